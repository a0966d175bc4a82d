package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// countsPath is where further instances tell what has happened in them.
const countsPath = "/faults/counts"

// admin serves the injector of faults to people, tools and further instances.
type admin struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// startAdmin listens on a loopback address: whoever reaches it can break
// everything.
func startAdmin(address string, in *fault.Injector, log *slog.Logger) (*admin, error) {
	if host, _, err := net.SplitHostPort(address); err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("listen %s: not an address of this machine alone; choose another with -admin", address)
	}
	l, err := listen(address, "-admin")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", fault.Admin(in))
	mux.HandleFunc("POST "+countsPath, func(w http.ResponseWriter, r *http.Request) { addCounts(w, r, in) })
	a := &admin{listener: l, server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	a.serving.Go(func() {
		if err := a.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serve the admin endpoint", "error", err)
		}
	})
	return a, nil
}

// url returns where the endpoint is.
func (a *admin) url() string { return "http://" + a.listener.Addr().String() }

func (a *admin) close() error {
	err := a.server.Close()
	a.serving.Wait()
	return err
}

// addCounts takes what has happened in another instance since it last told.
func addCounts(w http.ResponseWriter, r *http.Request, in *fault.Injector) {
	var counts map[fault.Point]fault.Count
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&counts); err != nil {
		http.Error(w, "the body must be counts by point: "+err.Error(), http.StatusBadRequest)
		return
	}
	in.Add(counts)
	w.WriteHeader(http.StatusNoContent)
}
