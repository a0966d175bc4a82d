package operate

import (
	"encoding/json"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Remaining is an undo that is left: what a backend still holds, or may hold,
// of a transaction, and the call that takes it away. Who makes the call by hand
// sends the headers Transaction-Id, Operation-Id and Revision with it.
type Remaining struct {
	Step   string          `json:"step"`
	Effect workflow.Effect `json:"effect"` // yes, or maybe
	// Backend is the name of the backend; Method and Path are those of the call,
	// the path below the backend's URL. They are empty for a step that this
	// version of the code does not know.
	Backend     string          `json:"backend,omitempty"`
	Method      string          `json:"method,omitempty"`
	Path        string          `json:"path,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`
	OperationID string          `json:"operationId,omitempty"`
	Revision    int             `json:"revision"`
	// Attempts counts the undo's calls so far; Error is that of the last one.
	Attempts int                 `json:"attempts"`
	Error    *workflow.StepError `json:"error,omitempty"`
}

// remaining returns the undos that are left of a transaction that is being
// undone, or was or may be given up, in an order in which they can be made. Others have
// none.
func remaining(d *workflow.Definition, p *workflow.Progress) []Remaining {
	left := []Remaining{}
	switch p.State {
	case workflow.Compensating, workflow.Stuck, workflow.GivenUp:
	default:
		return left
	}
	pivots := 0
	// A step comes behind all that it is after, and a pivot before all others.
	for _, step := range slices.Backward(p.Steps) {
		if !d.HasEffects(&workflow.Progress{Steps: []workflow.StepProgress{step}}) {
			continue
		}
		r := Remaining{
			Step: step.Name, Effect: max(step.Effect, workflow.EffectMaybe),
			OperationID: p.Serving(), Revision: p.Revision, Attempts: step.UndoAttempts, Error: step.UndoError,
		}
		at := len(left)
		if def := d.Step(step.Name); def != nil {
			call := d.UndoOf(p, step.Name)
			r.Backend, r.Method, r.Path, r.Body = call.Backend, call.Method, call.Path, call.Body
			if def.Pivot {
				at, pivots = pivots, pivots+1
			}
		}
		left = slices.Insert(left, at, r)
	}
	return left
}
