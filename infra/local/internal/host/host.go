package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/process"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/route"
)

// ErrHandlerExceededRestarts is what Run returns after the handler's third
// crash within the window of 30 minutes; the platform then starts a new host.
var ErrHandlerExceededRestarts = process.ErrExceededRestarts

// A Host is one Functions host. New makes it, Run runs it once.
type Host struct {
	cfg     Config
	app     config.App
	sup     *process.Supervisor
	client  *http.Client // to the handler
	wire    *wire        // the same, for requests that are at hand as a whole
	url     string       // of the handler
	routes  route.Table[*httpFunction]
	front   http.Handler
	ready   chan struct{}
	started time.Time
	failed  chan error // what ends Run besides the handler

	// triggers are the listeners of everything but HTTP.
	triggers []trigger
	// repeats are the batches of events that a retry policy repeats.
	repeats repeats
	// late are the calls to backends that arrive later.
	late lateCalls
	// calls ends when running calls may no longer go on. Set by Run.
	calls context.Context

	mu        sync.Mutex
	wg        sync.WaitGroup  // what Run has started, but the handler
	listening context.Context // ends when nothing new is to begin; nil before Run
}

// A trigger listens for one function.
type trigger interface {
	function() *config.Function
	// run listens until ctx ends, then waits for what it has started.
	run(ctx context.Context)
	// manual makes the invocation of a function that an administrator starts
	// with this text.
	manual(input string) (payload.Invocation, error)
}

// New reads and checks the whole configuration. Its error holds every problem
// found, with file, field and what to do.
func New(c Config) (*Host, error) {
	c.setDefaults()
	app, err := config.Load(c.ScriptRoot, config.Sources{Own: c.Settings, Environ: c.Environ, File: c.SettingsFile})
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: c, app: app, ready: make(chan struct{}), started: c.Now(), failed: make(chan error, 1), calls: context.Background()}
	for _, w := range app.Warnings {
		c.Logger.Warn(w)
	}
	if list := app.Host.Functions; list != nil {
		c.Logger.Info("a function allow list has been specified: all other functions are left out", "functions", list)
	}
	if c.Listener == nil {
		return nil, errors.New("host: Config.Listener is missing")
	}
	if err := h.prepareHandler(); err != nil {
		return nil, err
	}
	if err := h.prepareFunctions(); err != nil {
		return nil, err
	}
	h.front = h.newFront()
	return h, nil
}

// prepareFunctions enters the routes and makes the triggers.
func (h *Host) prepareFunctions() error {
	var problems config.Problems
	zone, err := h.timeZone()
	if err != nil {
		problems = append(problems, err.Error())
	}
	for i := range h.app.Functions {
		f := &h.app.Functions[i]
		switch f.Trigger.Kind {
		case config.HTTPKind:
			if err := h.routes.Add(f.Trigger.Route, f.Trigger.Methods, h.newHTTPFunction(f)); err != nil {
				problems = append(problems, fmt.Sprintf("%s/function.json: route: %v", f.Name, err))
			}
		case config.TimerKind:
			h.triggers = append(h.triggers, h.newTimer(f, zone))
		case config.EventHub:
			if h.cfg.Checkpoints == nil {
				problems = append(problems, f.Name+"/function.json: an eventHubTrigger needs Config.Checkpoints")
			}
			h.triggers = append(h.triggers, h.newEventHub(f))
		case config.ServiceBusKind:
			h.triggers = append(h.triggers, h.newServiceBus(f))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// Run starts the handler and listens until ctx ends. Then it stops listening,
// gives running calls ShutdownTimeout, kills the handler, waits for
// everything and returns nil. It returns earlier with an error that wraps
// ErrHandlerExceededRestarts when the handler has crashed three times.
func (h *Host) Run(ctx context.Context) error {
	background := context.WithoutCancel(ctx)
	handlerCtx, killHandler := context.WithCancel(background)
	defer killHandler()
	calls, endCalls := context.WithCancel(background)
	defer endCalls()
	listening, stopListening := context.WithCancel(ctx)
	defer stopListening()
	h.calls, h.listening = calls, listening

	// Kestrel takes headers of 32 KiB in all, and answers 431 beyond that. The
	// server adds 4 KiB to its limit.
	server := &http.Server{Handler: door.Guard(h.cfg.Listener.Addr(), h.front, h.cfg.Pages...), ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 28 << 10}
	h.goServe(server)
	handler := make(chan error, 1)
	if len(h.app.Functions) > 0 {
		go func() { handler <- h.sup.Run(handlerCtx) }()
	} else {
		h.cfg.Logger.Warn("no functions found: the handler is not started")
		handler <- nil
	}
	h.wg.Go(func() { h.announce(listening) })
	for _, t := range h.triggers {
		h.wg.Go(func() { t.run(listening) })
	}

	var err error
	exited := false
	select {
	case <-ctx.Done():
	case err = <-h.failed:
	case err = <-h.exitOf(handler):
		exited = true
	}
	h.mu.Lock() // no admitted goroutine begins after this
	stopListening()
	h.mu.Unlock()
	grace, cancel := context.WithTimeout(background, h.cfg.ShutdownTimeout)
	defer cancel()
	if serr := server.Shutdown(grace); serr != nil {
		h.cfg.Logger.Warn("HTTP requests were still running at the end", "error", serr)
	}
	h.waitFor(grace)
	endCalls()
	killHandler()
	if !exited && len(h.app.Functions) > 0 {
		err = errors.Join(err, <-handler)
	}
	if cerr := server.Close(); cerr != nil {
		h.cfg.Logger.Debug("close the HTTP server", "error", cerr)
	}
	h.wg.Wait()
	h.client.CloseIdleConnections()
	h.wire.close()
	return err
}

// exitOf is the handler's channel, or one that never answers where no handler
// runs.
func (h *Host) exitOf(handler chan error) <-chan error {
	if len(h.app.Functions) == 0 {
		return nil
	}
	return handler
}

// admitted runs a goroutine that Run waits for; false when the host isn't
// running.
func (h *Host) admitted(do func(ctx context.Context)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listening == nil || h.listening.Err() != nil {
		return false
	}
	ctx := h.listening
	h.wg.Go(func() { do(ctx) })
	return true
}

func (h *Host) goServe(server *http.Server) {
	h.wg.Go(func() {
		if err := server.Serve(h.cfg.Listener); !errors.Is(err, http.ErrServerClosed) {
			h.fail(fmt.Errorf("serve HTTP: %w", err))
		}
	})
}

// waitFor waits until everything has ended or ctx ends. Its goroutine ends with
// the wait group, for which Run waits in any case.
func (h *Host) waitFor(ctx context.Context) {
	done := make(chan struct{})
	go func() { h.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// announce closes the Ready channel when the handler answers.
func (h *Host) announce(ctx context.Context) {
	if len(h.app.Functions) == 0 {
		close(h.ready)
		return
	}
	if err := h.awaitHandler(ctx); err == nil {
		close(h.ready)
	}
}

// fail ends Run with err; the first counts.
func (h *Host) fail(err error) {
	select {
	case h.failed <- err:
	default:
	}
}

// Ready is closed when the handler has answered for the first time; HTTP is
// served and the triggers listen by then.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// HandlerPID is the handler's process id, 0 while there is none.
func (h *Host) HandlerPID() int { return h.sup.PID() }

// FunctionInfo describes a function for people.
type FunctionInfo struct {
	Name    string
	Trigger string // type in function.json, such as "httpTrigger"
	// Path and Methods are an HTTP function's: "/api/deliveryrequests/{id}",
	// and upper case methods (empty for every method).
	Path    string
	Methods []string
	// Source is what other triggers listen to: hub and consumer group, queue,
	// topic and subscription, or schedule.
	Source string
}

// Functions lists the enabled functions by name.
func (h *Host) Functions() []FunctionInfo {
	var out []FunctionInfo
	for _, f := range h.app.Functions {
		info := FunctionInfo{Name: f.Name, Trigger: string(f.Trigger.Kind)}
		if f.Trigger.Kind == config.HTTPKind {
			info.Path = "/" + strings.Trim(h.app.Host.HTTP.RoutePrefix+"/"+f.Trigger.Route.String(), "/")
			for _, m := range f.Trigger.Methods {
				info.Methods = append(info.Methods, strings.ToUpper(m))
			}
		} else {
			info.Source = f.Trigger.Entity()
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b FunctionInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}
