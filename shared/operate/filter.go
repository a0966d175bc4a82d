package operate

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Filter narrows a list of transactions. The zero value lists all.
type Filter struct {
	States []workflow.State // none: any
	Caller string           // whose they are
	Step   string           // where they stand
	Cause  string           // a workflow.Cause or a Trouble
	// From and Until bound when they were accepted: at From or later, before Until.
	From, Until time.Time
}

// Words for more than one state.
const (
	StateOpen = "open" // whatever isn't final
	StateAny  = "any"
)

func open() []workflow.State {
	return slices.DeleteFunc(slices.Clone(workflow.States), workflow.State.Final)
}

// causes are the words of Filter.Cause.
func causes() []string {
	words := []string{string(workflow.CauseFailed), string(workflow.CauseExpired), string(workflow.CauseCancelled)}
	for _, t := range Troubles {
		words = append(words, string(t))
	}
	return words
}

// ReadFilter reads a filter from the parameters state, caller, step, cause, from and
// until. Without a state it is of Stuck ones, or of any if a caller is named. The error is a
// *problem.Problem that lists all faults, with the parameters in the place of
// pointers, such as "?state".
func (s *Service) ReadFilter(query url.Values) (Filter, error) {
	var faults problem.Faults
	get := func(name string) *string {
		if !query.Has(name) {
			return nil
		}
		value := query.Get(name)
		return &value
	}
	f := Filter{Caller: faults.Text("?caller", get("caller"), MaxBy)}
	names := []string{StateOpen, StateAny}
	for _, state := range workflow.States {
		names = append(names, string(state))
	}
	missing := string(workflow.Stuck)
	if f.Caller != "" {
		missing = StateAny
	}
	switch state := faults.OneOf("?state", get("state"), names, missing); state {
	case StateAny:
	case StateOpen:
		f.States = open()
	default:
		f.States = []workflow.State{workflow.State(state)}
	}
	steps := make([]string, len(s.c.Engine.Definition.Steps))
	for i, step := range s.c.Engine.Definition.Steps {
		steps[i] = step.Name
	}
	if query.Has("step") {
		f.Step = faults.OneOf("?step", get("step"), steps, "")
	}
	if query.Has("cause") {
		f.Cause = faults.OneOf("?cause", get("cause"), causes(), "")
	}
	if query.Has("from") {
		f.From = faults.Time("?from", get("from"))
	}
	if query.Has("until") {
		f.Until = faults.Time("?until", get("until"))
	}
	if !f.From.IsZero() && !f.Until.IsZero() && !f.From.Before(f.Until) {
		faults.Add("?until", "must be after from")
	}
	return f, faults.Err()
}

// takes reports whether a transaction passes what no index knows of it.
func (f Filter) takes(s Summary) bool {
	return (f.Step == "" || s.Step == f.Step) &&
		(f.Cause == "" || string(s.Cause) == f.Cause || slices.Contains(s.Unusual, Trouble(f.Cause))) &&
		(f.From.IsZero() || !s.AcceptedAt.Before(f.From)) &&
		(f.Until.IsZero() || s.AcceptedAt.Before(f.Until))
}

// lookedThrough is how many pages of what the indexes find are read for one page
// of a list: where a filter leaves little of them, a page would else say nothing.
const lookedThrough = 10

// clockMargin is how far the clocks of an instance and of the storage may be apart.
const clockMargin = 5 * time.Minute

// List returns a page of the transactions that pass a filter, in no order, and the
// continuation of the next page ("" after the last), which is for the same filter. A
// page may be empty and still have a continuation. Invalid for a continuation that no
// page gave.
func (s *Service) List(ctx context.Context, f Filter, continuation string) ([]Summary, string, error) {
	where := Where{States: f.States, Caller: f.Caller}
	if !f.From.IsZero() {
		where.WrittenSince = f.From.Add(-clockMargin)
	}
	return s.find(ctx, where, continuation, f.takes)
}

// MaxSearch is how long, in characters, a text may be that is searched for.
const MaxSearch = 200

// Search returns a page of the transactions that have that id, or that key of the
// business (business.Business.Key), to the letter, in the manner of List.
func (s *Service) Search(ctx context.Context, text, continuation string) ([]Summary, string, error) {
	var found []Summary
	if continuation == "" && problem.ValidID(text) {
		p, _, err := s.c.Engine.Read(ctx, text)
		switch {
		case err == nil:
			found = append(found, summarize(p, s.now()))
		case !failure.Is(err, failure.NotFound):
			return nil, "", fmt.Errorf("search %s: %w", text, err)
		}
	}
	if s.c.Key == "" {
		return found, "", nil
	}
	byKey, next, err := s.find(ctx, Where{Key: s.c.Key, Value: text}, continuation, func(p Summary) bool { return p.ID != text })
	return append(found, byKey...), next, err
}

// ReadSearch returns what the parameter search says, "" without it. It goes with no
// filter. The error is a *problem.Problem.
func ReadSearch(query url.Values) (string, error) {
	if !query.Has("search") {
		return "", nil
	}
	var faults problem.Faults
	text := query.Get("search")
	if err := CheckText(text, MaxSearch); err != nil {
		faults.Add("?search", "%v", err)
	}
	for _, other := range []string{"state", "caller", "step", "cause", "from", "until"} {
		if query.Has(other) {
			faults.Add("?"+other, "does not go with search")
		}
	}
	return strings.TrimSpace(text), faults.Err()
}

// find returns those of what the indexes find that a filter takes, from the first page
// that has such.
func (s *Service) find(ctx context.Context, where Where, continuation string, takes func(Summary) bool) ([]Summary, string, error) {
	var found []Summary
	now := s.now()
	for range lookedThrough {
		page, next, err := s.c.Listing.Find(ctx, where, continuation)
		if err != nil {
			return nil, "", fmt.Errorf("list transactions: %w", err)
		}
		for i := range page {
			summary := summarize(&page[i].Progress, now)
			summary.ChangedAt = page[i].ChangedAt
			if takes(summary) {
				found = append(found, summary)
			}
		}
		if continuation = next; next == "" || len(found) > 0 {
			break
		}
	}
	return found, continuation, nil
}
