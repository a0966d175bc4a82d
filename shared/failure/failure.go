// Package failure says what kind of failure an error is. The adapter or client
// that sees the failure decides once; its callers only ask KindOf.
package failure

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Kind is what can be done about a failure.
type Kind int

// The kinds. Transient is the zero value on purpose: an error that nobody has
// judged is retried, never taken for final.
const (
	Transient Kind = iota // the same call may succeed later
	Permanent             // the same call will never succeed
	Conflict              // the thing exists already, or was changed by another (409, 412)
	NotFound              // the thing does not exist
	Invalid               // the input is wrong (400, 413)
)

var kindNames = [...]string{"transient", "permanent", "conflict", "not found", "invalid"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Error is a judged failure of one operation on one thing.
type Error struct {
	Kind Kind
	Op   string // such as "read transaction"
	ID   string // of the thing; may be empty
	// RetryAfter is how long the other side asked to wait; 0 if it did not.
	RetryAfter time.Duration
	Err        error
}

// New returns an *Error. err may be nil.
func New(kind Kind, op, id string, err error) error {
	return &Error{Kind: kind, Op: op, ID: id, Err: err}
}

func (e *Error) Error() string {
	s := e.Op
	if e.ID != "" {
		s += " " + e.ID
	}
	if e.Err == nil {
		return s + ": " + e.Kind.String()
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, and Transient
// when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Transient
}

// Is reports whether err is a failure of this kind. A nil error is none.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// RetryAfter returns the longest time that err asks to wait, 0 if none.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// MaxRetryAfter bounds what a service may ask to wait.
const MaxRetryAfter = 24 * time.Hour

// ParseRetryAfter reads the header Retry-After: seconds or a date (RFC 9110, section
// 10.2.3), up to MaxRetryAfter. What is neither counts as 0, as does the past.
func ParseRetryAfter(header string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		d = date.Sub(now)
	}
	return min(max(0, d), MaxRetryAfter)
}
