// Package play runs the services of a trial that aren't the app's own, such as a
// payment provider: over HTTP on free ports, in this process, which outlives what is
// killed.
package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Services are the services of a trial while they run. They are safe for concurrent
// use. Close must be called.
type Services struct {
	settings map[string]string
	foreign  map[string]trial.Foreign
	servers  []*http.Server
}

// Start starts the services. delay tells for each request how long its answer is
// held back once the request was carried out; nil never does.
func Start(services []trial.Service, delay func() time.Duration) (*Services, error) {
	s := &Services{settings: map[string]string{}, foreign: map[string]trial.Foreign{}}
	for _, service := range services {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("play %s: %w", service.Name, err), s.Close())
		}
		foreign := service.Open()
		var handler http.Handler = foreign
		if delay != nil {
			handler = late(foreign, delay)
		}
		server := &http.Server{Handler: door.Guard(listener.Addr(), handler), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }() // ends with Close
		s.servers = append(s.servers, server)
		s.foreign[service.Name] = foreign
		s.settings[service.Setting] = "http://" + listener.Addr().String()
	}
	return s, nil
}

// Settings tell the app where the services are, by variable.
func (s *Services) Settings() map[string]string { return maps.Clone(s.settings) }

// Ledgers returns what the services know, by name.
func (s *Services) Ledgers() (map[string]json.RawMessage, error) {
	ledgers := map[string]json.RawMessage{}
	for name, foreign := range s.foreign {
		ledger, err := foreign.Ledger()
		if err != nil {
			return nil, fmt.Errorf("ledger of %s: %w", name, err)
		}
		ledgers[name] = ledger
	}
	return ledgers, nil
}

// Close stops the services.
func (s *Services) Close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// late holds answers back: what was asked for is done by then.
func late(next http.Handler, delay func() time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait := delay()
		if wait <= 0 {
			next.ServeHTTP(w, r)
			return
		}
		held := &answer{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(held, r)
		select {
		case <-time.After(wait):
			maps.Copy(w.Header(), held.header)
			w.WriteHeader(held.status)
			_, _ = w.Write(held.body.Bytes()) // who asked may be gone
		case <-r.Context().Done():
		}
	})
}

// answer is an answer that is held back.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
