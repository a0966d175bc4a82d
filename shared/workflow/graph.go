package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Validate tells what is wrong with the definition, all of it at once. A
// definition is checked when the program starts, not while it runs.
func (d *Definition) Validate() error {
	var errs []error
	if len(d.Steps) == 0 {
		errs = append(errs, errors.New("no steps"))
	}
	seen := map[string]bool{}
	for _, s := range d.Steps {
		if s.Name == "" || seen[s.Name] {
			errs = append(errs, fmt.Errorf("step %q: the name is empty or already used", s.Name))
		}
		for _, name := range s.After {
			if !seen[name] {
				errs = append(errs, fmt.Errorf("step %q: it follows %q, which must be listed before it", s.Name, name))
			}
		}
		for _, name := range s.Uses {
			if !slices.Contains(d.ancestors(s.Name), name) {
				errs = append(errs, fmt.Errorf("step %q: it uses the result of %q, which it does not come after", s.Name, name))
			}
		}
		if s.Call == nil {
			errs = append(errs, fmt.Errorf("step %q: it has no call", s.Name))
		}
		if s.Pivot && s.Undo == nil {
			errs = append(errs, fmt.Errorf("step %q: a pivot without an undo", s.Name))
		}
		if s.CallTimeout < 0 {
			errs = append(errs, fmt.Errorf("step %q: its call time-out is negative", s.Name))
		}
		seen[s.Name] = true
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("definition %q: %w", d.Name, err)
	}
	return nil
}

// Step returns the step of that name, nil if there is none.
func (d *Definition) Step(name string) *Step {
	for i := range d.Steps {
		if d.Steps[i].Name == name {
			return &d.Steps[i]
		}
	}
	return nil
}

// LongestCall returns the longest time that a call may take, where a step that says
// nothing has the usual one.
func (d *Definition) LongestCall(usual time.Duration) time.Duration {
	longest := usual
	for i := range d.Steps {
		longest = max(longest, d.Steps[i].CallTimeout)
	}
	return longest
}

// ShortestCall returns the time that every call to a backend has at least. Which steps
// call it is seen from calls that are made to look at; one that can't be made without a
// request counts for every backend.
func (d *Definition) ShortestCall(backend string, usual time.Duration) time.Duration {
	var shortest time.Duration
	for i := range d.Steps {
		step := &d.Steps[i]
		if called := step.calls(); called != backend && called != "" {
			continue
		}
		if call := cmp.Or(step.CallTimeout, usual); shortest == 0 || call < shortest {
			shortest = call
		}
	}
	return cmp.Or(shortest, usual)
}

// calls returns the backend of a call that is made to look at, "" if none can be.
func (s *Step) calls() (backend string) {
	defer func() { _ = recover() }()
	return s.Call(Input{TransactionID: "t", Revision: 1}).Backend
}

// ancestors returns the names of all steps that the step comes after, directly
// or through others. A step of another version of the definition has none.
func (d *Definition) ancestors(name string) []string {
	def := d.Step(name)
	if def == nil {
		return nil
	}
	var all []string
	for _, direct := range def.After {
		all = append(all, direct)
		all = append(all, d.ancestors(direct)...)
	}
	return all
}

// input returns what a step's function sees: of the results only those that it
// names, so that its call is the same whatever the other steps are doing.
func (p *Progress) input(names []string) Input {
	in := Input{TransactionID: p.ID, Revision: p.Revision, Request: p.Request, Results: map[string]json.RawMessage{}}
	for _, s := range p.Steps {
		if s.Revision > 0 && s.Result != nil && slices.Contains(names, s.Name) {
			in.Results[s.Name] = s.Result
		}
	}
	return in
}

// CallOf returns the step's call as the transaction stands.
func (d *Definition) CallOf(p *Progress, name string) Call {
	s := d.Step(name)
	return s.Call(p.input(s.Uses))
}

// UndoOf returns the call that undoes the step. The step must have an undo.
func (d *Definition) UndoOf(p *Progress, name string) Call {
	return d.Step(name).Undo(p.input(nil))
}

// align adds the steps that the definition has and the document has not: the
// definition may have grown since the transaction began.
func (d *Definition) align(p *Progress) {
	for _, s := range d.Steps {
		if p.Step(s.Name) == nil {
			p.Steps = append(p.Steps, StepProgress{Name: s.Name, State: StepPending})
		}
	}
}

// longestTTL is the longest time to live that Cosmos DB takes: 2^31-1 seconds, 68
// years. (https://learn.microsoft.com/azure/cosmos-db/nosql/time-to-live)
const longestTTL = math.MaxInt32 * time.Second

// changeableFor returns for how long a completed transaction can still be
// changed: its document has to be there for as long. It leaves room for the
// time that all documents live.
func (d *Definition) changeableFor(p *Progress, now time.Time) time.Duration {
	return min(max(0, d.LastChange(p).Sub(now)), longestTTL/2)
}

// LastChange returns until when a transaction that was completed once may still be
// cancelled or rescheduled. The zero time means never.
func (d *Definition) LastChange(p *Progress) time.Time {
	if d.ChangeableUntil == nil {
		return time.Time{}
	}
	names := make([]string, 0, len(d.Steps))
	for _, s := range d.Steps {
		names = append(names, s.Name)
	}
	return d.ChangeableUntil(p.input(names))
}
