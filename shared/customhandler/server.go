package customhandler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxHeader bounds the header of a request, in bytes: the front end passes
	// on some 64 KiB at most, and a token has up to a few.
	maxHeader = 64 << 10
	// readTimeout is how long a request may take to arrive. A client that sends
	// its body byte by byte holds one of the host's places for no longer. It is
	// longer than any invocation: the server ends the context of one that still
	// runs then.
	readTimeout = 5 * time.Minute
)

// Server serves a handler to the host, on 127.0.0.1 only: the port has no
// authentication. GET / is always answered, since any answer to it tells the
// host that the handler is ready; so the port is opened last, when everything
// behind it can serve.
type Server struct {
	// Port is where the host looks; 0 takes a free one.
	Port    int
	Handler http.Handler
	Logger  *slog.Logger
	// Grace is how long requests under way may take when the server stops.
	Grace time.Duration
	// LocalOnly refuses what names another machine than this one: on a
	// developer's machine, a web page whose name was bound to 127.0.0.1. It must be
	// off in Azure, where it is the host's own affair how it names the handler.
	LocalOnly bool
	// Listening is called with the address once the port is open. May be nil.
	Listening func(net.Addr)
}

// Run serves until ctx is done, then lets the requests under way finish and
// returns nil. The error is that the port can't be had, that serving failed,
// or that requests were cut off after Grace.
func (s *Server) Run(ctx context.Context) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return fmt.Errorf("listen for the host: %w", err)
	}
	server := &http.Server{
		Handler:           drained(s.local(s.withRoot())),
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       readTimeout,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if s.Listening != nil {
		s.Listening(listener.Addr())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve the host: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	err = server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish the requests under way: %w", err), server.Close())
	}
	<-served // http.ErrServerClosed: it was asked to stop
	return err
}

// local refuses what doesn't call the handler as the host does, by 127.0.0.1.
func (s *Server) local(next http.Handler) http.Handler {
	if !s.LocalOnly {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		if name != "127.0.0.1" && name != "localhost" {
			http.Error(w, fmt.Sprintf("Host %q is not served here: use 127.0.0.1", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withRoot answers the host's question whether the handler is there before
// anything else is looked at.
func (s *Server) withRoot() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ready"}`)) // the host only wants to see an answer
			return
		}
		s.Handler.ServeHTTP(w, r)
	})
}
