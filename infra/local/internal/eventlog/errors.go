package eventlog

import (
	"errors"
	"fmt"
)

// Errors of this package, to be found with errors.Is. Where the service has
// words for a refusal, the errors that wrap these consist of them.
var (
	// ErrBadPosition: the filter expression is none that the service knows.
	ErrBadPosition = errors.New("eventlog: unknown start position")
	// ErrBeyondEnd: the offset or sequence number lies behind the newest event.
	ErrBeyondEnd = errors.New("eventlog: start position beyond the end")
	// ErrStolen: a reader with a higher owner level is there, or one with any
	// when the new one has none.
	ErrStolen = errors.New("eventlog: partition is owned")
	// ErrTooMany: MaxReaders readers without an owner level are there.
	ErrTooMany = errors.New("eventlog: too many readers")
)

// refusal is one of the errors above in the service's words.
type refusal struct {
	kind error
	text string
}

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.kind }
