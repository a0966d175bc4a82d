package problem

import "net/http"

// Type is a kind of problem: what a client can program against.
type Type struct {
	// ID is the relative reference that goes into the member "type".
	ID     string
	Status int
	Title  string
}

// The types that any function may answer with. docs/problems.md lists them
// together with those of the backends.
var (
	Malformed        = Type{"malformed", http.StatusBadRequest, "The body is not readable JSON"}
	Invalid          = Type{"invalid", http.StatusBadRequest, "The request breaks a rule"}
	Unauthorized     = Type{"unauthorized", http.StatusUnauthorized, "The caller is unknown"}
	Forbidden        = Type{"forbidden", http.StatusForbidden, "The caller may not do this"}
	NotFound         = Type{"not-found", http.StatusNotFound, "No such resource"}
	MethodNotAllowed = Type{"method-not-allowed", http.StatusMethodNotAllowed, "The method is not allowed here"}
	Conflict         = Type{"conflict", http.StatusConflict, "The request conflicts with the current state"}
	Gone             = Type{"gone", http.StatusGone, "It was undone for good"}
	TooLarge         = Type{"too-large", http.StatusRequestEntityTooLarge, "The body is too large"}
	Unsupported      = Type{"unsupported-media-type", http.StatusUnsupportedMediaType, "The body's type is not supported"}
	KeyReused        = Type{"key-reused", http.StatusUnprocessableEntity, "The idempotency key belongs to another request"}
	TooManyRequests  = Type{"too-many-requests", http.StatusTooManyRequests, "The caller has sent too many requests"}
	Internal         = Type{"internal", http.StatusInternalServerError, "The service failed"}
	Unavailable      = Type{"unavailable", http.StatusServiceUnavailable, "The service is unavailable for now"}
)

// Types are all of the above, by status.
var Types = []Type{
	Malformed, Invalid, Unauthorized, Forbidden, NotFound, MethodNotAllowed, Conflict,
	Gone, TooLarge, Unsupported, KeyReused, TooManyRequests, Internal, Unavailable,
}
