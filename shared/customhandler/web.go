package customhandler

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Web returns the handler of an HTTP function: next, with the log keys and the
// trace of its invocation in the context, and with a panic answered as a
// problem instead of a cut connection. route is the template of the path, for
// the observer.
func Web(function, route string, observer Observer, logger *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := telemetry.With(r.Context(),
			slog.String(telemetry.KeyFunction, function), slog.String(telemetry.KeyInvocation, r.Header.Get(InvocationHeader)))
		ctx = telemetry.FromHeader(ctx, r.Header)
		ctx, ended := observer.Request(ctx, r, function, route)
		ctx = telemetry.Rooted(ctx)
		r = r.WithContext(ctx)
		answer := &statusWriter{ResponseWriter: w}
		start := time.Now()
		defer func() { ended(answer.status) }()
		defer func() {
			if p := recover(); p != nil {
				logger.ErrorContext(ctx, "panic", telemetry.KeyError, fmt.Sprint(p), "stack", string(debug.Stack()))
				if answer.status != 0 {
					panic(http.ErrAbortHandler) // too late to say anything else
				}
				problem.Write(answer, r, *problem.New(problem.Internal, ""))
			}
			logger.DebugContext(ctx, "answered", telemetry.KeyMethod, r.Method, telemetry.KeyPath, r.URL.Path,
				telemetry.KeyStatus, answer.status, telemetry.KeyDuration, time.Since(start).Milliseconds())
		}()
		next.ServeHTTP(answer, r)
	})
}

// statusWriter remembers the status that was answered, 0 before.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
