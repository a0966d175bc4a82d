package workflow

import (
	"encoding/json"
	"net/http"
	"time"
)

// Effect is what a call may have changed at the service. The order matters: a
// step's effect is the highest over its attempts.
type Effect int

// The effects.
const (
	EffectNo    Effect = iota // not sent at all, or the backend's own refusal
	EffectMaybe               // time-out, reset, 408, 5xx, a platform's 4xx
	EffectYes                 // 2xx
)

var effectNames = [...]string{"no", "maybe", "yes"}

func (e Effect) String() string { return effectNames[e] }

// MarshalText writes "no", "maybe" or "yes".
func (e Effect) MarshalText() ([]byte, error) { return []byte(effectNames[e]), nil }

// UnmarshalText reads what MarshalText writes.
func (e *Effect) UnmarshalText(text []byte) error {
	for i, name := range effectNames {
		if name == string(text) {
			*e = Effect(i)
			return nil
		}
	}
	return &UnknownNameError{Kind: "effect", Name: string(text)}
}

// UnknownNameError is returned when a stored name is not one of its kind's.
type UnknownNameError struct{ Kind, Name string }

func (e *UnknownNameError) Error() string { return "unknown " + e.Kind + " " + `"` + e.Name + `"` }

// Retry tells whether a failed call can be made again.
type Retry int

// The retry verdicts. Only RetryNone is a success.
const (
	RetryNone  Retry = iota // the call succeeded
	RetryLater              // 408, 429, 5xx, time-out, reset, not sent, a 4xx that is not the backend's word
	RetryNever              // the backend's word: any other 4xx with a problem document of its own
)

// TypeCannotUndo is the problem type with which a service refuses for good to
// undo what has happened in the world.
const TypeCannotUndo = "cannot-be-undone"

// Outcome is the verdict on one call, given by the client that made it.
type Outcome struct {
	Retry  Retry
	Effect Effect
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Result is the answer's JSON body for RetryNone; nil when it had none.
	Result json.RawMessage
	// Type and Message describe a failure: the problem type (or a short code
	// such as "timeout") and a text for people.
	Type, Message string
	// RetryAfter is how long the service asked to wait; 0 if it did not.
	RetryAfter time.Duration
}

// ShutOut reports whether we were not let in (401, 403): that is no word on the
// call, which is repeated, but a repeat alone seldom mends it.
func (o Outcome) ShutOut() bool {
	return o.Retry == RetryLater && (o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden)
}

// UndoRefused reports whether the backend refused an undo call, or did not let us
// in. That it has happened, and can't be undone any more, is no refusal.
func (o Outcome) UndoRefused() bool {
	return o.ShutOut() || o.Retry == RetryNever && o.Type != TypeCannotUndo
}
