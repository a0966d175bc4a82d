package quarantine

import (
	"slices"
	"time"
)

// State is what operators have made of an entry.
type State string

// The states. An entry is Kept until somebody decides about it.
const (
	Kept     State = "Kept"
	Redriven State = "Redriven" // what it asked for was asked for again
	Dropped  State = "Dropped"  // nothing is to be done about it; it stays readable
)

// States are all states.
var States = []State{Kept, Redriven, Dropped}

// ActKind is what an operator does with an entry.
type ActKind string

// The acts.
const (
	ActRedrive ActKind = "redrive"
	ActDrop    ActKind = "drop"
)

// Act is one act of an operator, as it is recorded.
type Act struct {
	At  time.Time `json:"at"` // to the millisecond
	Act ActKind   `json:"act"`
	By  string    `json:"by"`
	Why string    `json:"why"`
	// Result is what came of it. A redrive is recorded before it is done: one
	// without a result was begun, and may have taken effect.
	Result string `json:"result,omitempty"`
}

// same reports whether both are the record of one act.
func (a Act) same(b Act) bool {
	return a.At.Equal(b.At) && a.Act == b.Act && a.By == b.By && a.Why == b.Why
}

// MaxActs is how many acts an entry keeps. Beyond it the oldest go, but for the
// first.
const MaxActs = 50

// Begin records an act that has no result yet, and reports whether it was new:
// the record of a repeated write is there already.
func (e *Entry) Begin(a Act) bool {
	if e.find(a) != nil {
		return false
	}
	acts := append(make([]Act, 0, len(e.Acts)+1), e.Acts...)
	if len(acts) >= MaxActs {
		acts = append(acts[:1], acts[2:]...)
	}
	e.Acts = append(acts, a)
	return true
}

// End records what came of an act, and the state that it leads to, and reports
// whether it was new. An act that took effect counts whatever has been recorded
// since it began.
func (e *Entry) End(a Act, result string, to State) bool {
	if !e.Begin(a) { // otherwise others have crowded it out
		e.Acts = slices.Clone(e.Acts)
	}
	record := e.find(a)
	if record.Result == result && e.State == to {
		return false
	}
	record.Result = result
	e.State = to
	return true
}

// Last returns the latest act of a kind, nil if there is none.
func (e *Entry) Last(kind ActKind) *Act {
	for i := len(e.Acts) - 1; i >= 0; i-- {
		if e.Acts[i].Act == kind {
			return &e.Acts[i]
		}
	}
	return nil
}

func (e *Entry) find(a Act) *Act {
	for i := range e.Acts {
		if e.Acts[i].same(a) {
			return &e.Acts[i]
		}
	}
	return nil
}
