package customhandler

import (
	"context"
	"net/http"
)

// Observer is told of each invocation that begins and ends. It is safe for
// concurrent use.
type Observer interface {
	// Event returns the context for an event, and what is called with its
	// result before it is answered. ctx has the trace context that the host sent,
	// if it did.
	Event(ctx context.Context, i *Invocation) (context.Context, func(error))
	// Request returns the context for a request to an HTTP function, and what is
	// called with the status when it was answered: 0 if it was not. ctx has the
	// trace context of the request.
	Request(ctx context.Context, r *http.Request, function, route string) (context.Context, func(status int))
}
