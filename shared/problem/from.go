package problem

import (
	"errors"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// DefaultRetryAfter is what a client is asked to wait when nobody knows better.
const DefaultRetryAfter = 2 * time.Second

// From returns the problem that err is to the client. A *Problem in the chain
// is it; otherwise the failure's kind decides, and the text of err stays
// inside: it belongs into the log, which is the caller's business.
func From(err error) Problem {
	var p *Problem
	if errors.As(err, &p) {
		return *p
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return *New(TooLarge, "the body may have up to %d bytes", large.Limit)
	}
	switch failure.KindOf(err) {
	case failure.Invalid:
		return *New(Invalid, "")
	case failure.NotFound:
		return *New(NotFound, "")
	case failure.Conflict:
		return *New(Conflict, "")
	case failure.Permanent:
		return *New(Internal, "")
	default:
		out := *New(Unavailable, "please repeat the request")
		out.RetryAfter = max(failure.RetryAfter(err), DefaultRetryAfter)
		return out
	}
}
