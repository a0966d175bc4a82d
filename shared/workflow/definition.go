package workflow

import (
	"encoding/json"
	"time"
)

// Definition is a business transaction: its steps and the few rules about it
// that only the business knows. It is immutable and safe for concurrent use.
// All its functions are pure.
type Definition struct {
	Name string
	// Steps are listed so that a step comes behind all that it is After.
	Steps []Step
	// Merge applies the body of a reschedule to the current request and
	// returns the new one. An error refuses the operation with its text.
	Merge func(request, change json.RawMessage) (json.RawMessage, error)
	// ChangeableUntil tells until when a completed transaction may still be
	// cancelled or rescheduled. The zero time means never.
	ChangeableUntil func(Input) time.Time
}

// Step is one call to one service.
type Step struct {
	Name string
	// After names the steps that must have succeeded before.
	After []string
	// Uses names the steps whose results Call reads: some of those that the step
	// comes after. It sees no others.
	Uses []string
	// Call builds the step's call. It must give the same call for the same
	// input, since a repeat has to be recognized as one.
	Call func(Input) Call
	// Stable says that a call that is made again for the same revision answers with
	// the same result, whatever has changed meanwhile. Before a step is called
	// that uses a result of another kind, that result is saved.
	Stable bool
	// Accept judges the result of a 2xx. An error is the reason for which the
	// service's answer rejects the transaction. Nil accepts everything.
	Accept func(result json.RawMessage) error
	// Undo builds the call that undoes the step. It sees no results: the step may
	// have an effect and no result that is known. Nil means that the step has no
	// effect to undo.
	Undo func(Input) Call
	// Pivot says that the world can finish what the step began: a parcel is
	// picked up, a plane takes off. From then on the service refuses the undo for
	// good, with TypeCannotUndo. So a pivot is undone before any other step: when
	// the undo is refused nothing else is lost. A pivot has an Undo. Where there
	// are several they are undone in reverse order as well, and a refusal after
	// one of them was undone leaves the transaction Stuck.
	Pivot bool
	// CallTimeout is how long a call of the step, or its undo call, may take. 0 means
	// the system's own (CALL_TIMEOUT_SECONDS).
	CallTimeout time.Duration
	// Affected tells whether the step must be redone when the request changes.
	// Nil means never.
	Affected func(before, after json.RawMessage) bool
}

// Input is what a step's functions may use.
type Input struct {
	TransactionID string
	Revision      int // 1 for the first request, +1 for every change
	Request       json.RawMessage
	// Results are the results that there are of the steps that the function may
	// see, by step name: those that the step Uses, all for ChangeableUntil, none for
	// an undo.
	Results map[string]json.RawMessage
}

// Call is a request to a backend, free of any transport.
type Call struct {
	Backend string          // the backend's name, resolved to a URL by the client
	Method  string          // GET, PUT or DELETE
	Path    string          // escaped, below the backend's URL, such as "packages/p-1"
	Body    json.RawMessage // nil for none
}

// DeleteOf returns the Undo of a step whose call PUTs what a DELETE of its path
// takes away.
func DeleteOf(call func(Input) Call) func(Input) Call {
	return func(in Input) Call {
		c := call(in)
		return Call{Backend: c.Backend, Method: "DELETE", Path: c.Path}
	}
}
