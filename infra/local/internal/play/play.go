// Package play runs a service of a trial that isn't the app's own, such as a
// payment provider: over HTTP, in a process of its own, with a ledger that outlives
// the process.
//
// Reading order: play.go (the service), ledger.go (what it has kept).
package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Config says what is played.
type Config struct {
	Service trial.Service
	Folder  string // of the ledger; it is made if it is missing
	// Faults breaks things on purpose; nil breaks nothing. Late is how long an answer
	// is held back at fault.ServiceLate, and Die ends the process, without a return,
	// at fault.ServiceKill.
	Faults *fault.Injector
	Late   time.Duration
	Die    func()
}

// Serve serves until ctx ends, or the service can't go on. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, c Config) (err error) {
	book, entries, err := openLedger(files.System{}, c.Folder, c.Service.Name)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, book.close()) }()
	service, err := c.Service.Open(entries, c.keeping(book.keep))
	if err != nil {
		return errors.Join(fmt.Errorf("open %s with its ledger in %s: %w", c.Service.Name, c.Folder, err), listener.Close())
	}
	server := &http.Server{Handler: door.Guard(listener.Addr(), c.late(service)), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // its error would say what Serve says
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// keeping is keep of a process that may die when the entry is kept, and nobody was
// told. Each death leaves an entry, so that the service gets on.
func (c Config) keeping(keep func(any) error) func(any) error {
	return func(entry any) error {
		if err := keep(entry); err != nil {
			return err
		}
		if c.Faults.Hit(fault.ServiceKill) {
			c.Die()
		}
		return nil
	}
}

// late holds answers back: what was asked for is done by then.
func (c Config) late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Faults.Hit(fault.ServiceLate) {
			next.ServeHTTP(w, r)
			return
		}
		held := &answer{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(held, r)
		select {
		case <-time.After(c.Late):
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
