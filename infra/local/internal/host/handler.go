package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/process"
)

const loopback = "127.0.0.1"

// prepareHandler chooses the handler's port and environment.
func (h *Host) prepareHandler() error {
	d := h.app.Host.Handler
	port := d.Port
	if port == 0 {
		free, err := freePort()
		if err != nil {
			return fmt.Errorf("find a free port for the handler: %w", err)
		}
		port = free
	}
	h.url = "http://" + net.JoinHostPort(loopback, strconv.Itoa(port))
	h.client = newHandlerClient(h.app.Host.FunctionTimeout)
	h.wire = newWire(strings.TrimPrefix(h.url, "http://"))
	h.sup = process.New(process.Options{
		Path: d.Path, Args: d.Args, Dir: d.Dir, Env: h.environment(port), URL: h.url,
		InitializationTimeout: d.InitializationTimeout, Client: h.client,
		Line: h.consoleLine, Logger: h.cfg.Logger, Now: h.cfg.Now,
	})
	return nil
}

// freePort finds a port by opening and closing it, as the host does, with the
// same small race.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// dialTimeout bounds the wait for a connection to the handler.
const dialTimeout = 10 * time.Second

// newHandlerClient talks to the handler over many kept connections, without a
// proxy, cookies or compression.
func newHandlerClient(functionTimeout time.Duration) *http.Client {
	c := &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 4096,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}
	if functionTimeout > 0 {
		c.Timeout = functionTimeout + time.Minute
	}
	return c
}

// environment is what the handler sees: the app settings and what the host and
// func start document.
func (h *Host) environment(port int) []string {
	p := strconv.Itoa(port)
	id := uuid.NewString()
	own := []string{
		"FUNCTIONS_CUSTOMHANDLER_PORT=" + p,
		"FUNCTIONS_HTTPWORKER_PORT=" + p,
		"FUNCTIONS_CUSTOMHANDLER_WORKER_ID=" + id,
		"FUNCTIONS_HTTPWORKER_ID=" + id,
		"FUNCTIONS_APP_ROOT_PATH=" + h.app.Root,
		"AzureWebJobsScriptRoot=" + h.app.Root,
	}
	for name, value := range map[string]string{
		"AZURE_FUNCTIONS_ENVIRONMENT":     "Development",
		"FUNCTIONS_CORETOOLS_ENVIRONMENT": "true",
		"WEBSITE_HOSTNAME":                h.cfg.Listener.Addr().String(),
	} {
		if _, set := h.app.Settings.Lookup(name); !set {
			own = append(own, name+"="+value)
		}
	}
	slices.Sort(own)
	// Of equal names os/exec takes the last.
	return append(h.app.Settings.Environ(), own...)
}

// awaitHandler waits until the handler can be called. It waits as long as the
// host does: (3+1) times initializationTimeout, then the host stops.
func (h *Host) awaitHandler(ctx context.Context) error {
	err := h.sup.WaitReady(ctx, 4*h.app.Host.Handler.InitializationTimeout)
	if err != nil && ctx.Err() == nil && !errors.Is(err, process.ErrStopped) {
		h.fail(err)
	}
	return err
}

// timeZone is the zone of NCRONTAB schedules.
func (h *Host) timeZone() (*time.Location, error) {
	name, ok := h.app.Settings.Lookup("WEBSITE_TIME_ZONE")
	if !ok || strings.EqualFold(name, "UTC") {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, fmt.Errorf("WEBSITE_TIME_ZONE: %w: use an IANA name such as Europe/Zurich", err)
	}
	return zone, nil
}
