package system

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// countsPath is where further instances tell what has happened in them.
const countsPath = "/faults/counts"

// maxCountsBytes bounds what is told: there are some numbers per point.
const maxCountsBytes = 64 << 10

// admin serves the injector of faults to people, tools and further instances.
type admin struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// startAdmin listens on a loopback address: whoever reaches it can break
// everything.
func startAdmin(address string, in *fault.Injector, hubs *broker.Broker, log *slog.Logger) (*admin, error) {
	if host, _, err := net.SplitHostPort(address); err == nil && !door.IsLoopback(host) {
		return nil, fmt.Errorf("listen %s: other machines reach this address; choose another with -admin", address)
	}
	l, err := listen(address, "-admin", false)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", fault.Admin(in))
	mux.HandleFunc("POST "+countsPath, func(w http.ResponseWriter, r *http.Request) { addCounts(w, r, in) })
	mux.HandleFunc("PUT /hubs/{hub}", func(w http.ResponseWriter, r *http.Request) { setHubStatus(w, r, hubs) })
	a := &admin{listener: l, server: &http.Server{
		Handler: door.Guard(l.Addr(), mux), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
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

// setHubStatus does for a hub what Azure's management does: its status is Active or
// SendDisabled.
func setHubStatus(w http.ResponseWriter, r *http.Request, hubs *broker.Broker) {
	var hub struct {
		Status string `json:"status"`
	}
	p := problem.ReadJSON(w, r, maxCountsBytes, &hub)
	if p == nil && hub.Status != "Active" && hub.Status != "SendDisabled" {
		p = problem.New(problem.Invalid, "the status must be Active or SendDisabled")
	}
	if p == nil {
		if err := hubs.DisableSends(r.PathValue("hub"), hub.Status == "SendDisabled"); err != nil {
			p = problem.New(problem.NotFound, "%v", err)
		}
	}
	if p != nil {
		problem.Write(w, r, *p)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// addCounts takes what has happened in another instance since it last told.
func addCounts(w http.ResponseWriter, r *http.Request, in *fault.Injector) {
	var counts map[fault.Point]fault.Count
	if p := problem.ReadJSON(w, r, maxCountsBytes, &counts); p != nil {
		problem.Write(w, r, *p)
		return
	}
	in.Add(counts)
	w.WriteHeader(http.StatusNoContent)
}
