package operate_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// all returns what a list has, over its pages.
func all(t *testing.T, list func(continuation string) ([]operate.Summary, string, error)) []operate.Summary {
	t.Helper()
	var found []operate.Summary
	for next := ""; ; {
		page, after, err := list(next)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, page...)
		if next = after; next == "" {
			return found
		}
	}
}

// listed returns the ids of those that a query lists, in order.
func (w *world) listed(query string) string {
	w.t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		w.t.Fatal(err)
	}
	filter, err := w.operate.ReadFilter(values)
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, s := range all(w.t, func(next string) ([]operate.Summary, string, error) {
		return w.operate.List(w.t.Context(), filter, next)
	}) {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (w *world) store(all ...*workflow.Progress) {
	w.t.Helper()
	for _, p := range all {
		if _, err := w.Store.Create(w.t.Context(), p); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Ensure that a list shows where a transaction stands, since when and why, in each
// way that it can stand.
func TestSummaries(t *testing.T) {
	w := newWorld(t)
	now := w.Clock.Now()
	at := func(d time.Duration) workflow.Instant { return workflow.At(now.Add(d)) }
	failed := func(status int, code string) *workflow.StepError {
		return &workflow.StepError{Status: status, Type: code, Message: "why", At: at(-time.Second)}
	}
	step := func(name string, state workflow.StepState, attempts int, e *workflow.StepError) workflow.StepProgress {
		return workflow.StepProgress{Name: name, State: state, Attempts: attempts, Error: e}
	}
	undo := func(state workflow.StepState, attempts int, e *workflow.StepError) workflow.StepProgress {
		return workflow.StepProgress{Name: "hotel", State: state, Attempts: 7, Error: failed(500, "old"), UndoAttempts: attempts, UndoError: e}
	}
	change := func(ago time.Duration, transition workflow.Transition, state workflow.State) workflow.StateChange {
		return workflow.StateChange{At: at(-ago), Transition: transition, State: state}
	}
	flight := step("flight", workflow.StepPending, 0, nil)
	for name, c := range map[string]struct {
		p    workflow.Progress
		want operate.Summary
	}{
		"just accepted": {
			workflow.Progress{State: workflow.Accepted, AcceptedAt: at(-time.Hour)},
			operate.Summary{State: workflow.Accepted, AcceptedAt: at(-time.Hour), Since: at(-time.Hour)},
		},
		"does well": {
			workflow.Progress{State: workflow.Running, WakeAt: at(time.Minute), Caller: "ann", Steps: []workflow.StepProgress{
				step("hotel", workflow.StepSucceeded, 1, nil), step("flight", workflow.StepStarted, 2, nil)}},
			operate.Summary{State: workflow.Running, WakeAt: at(time.Minute), Caller: "ann", Step: "flight", Attempts: 2},
		},
		"waits for a service that is down": {
			workflow.Progress{State: workflow.Running, WakeAt: at(-time.Minute), Steps: []workflow.StepProgress{
				flight, step("hotel", workflow.StepPending, 3, failed(0, "timeout"))},
				History: []workflow.StateChange{change(3*time.Minute, workflow.TransitionStart, workflow.Running), change(time.Minute, workflow.TransitionHasten, workflow.Running)}},
			operate.Summary{State: workflow.Running, WakeAt: at(-time.Minute), Step: "hotel", Attempts: 3, LastError: "timeout: why",
				LastErrorAt: at(-time.Second), Since: at(-3 * time.Minute), Unusual: []operate.Trouble{operate.Unreachable}},
		},
		"is forgotten": {
			workflow.Progress{State: workflow.Running, WakeAt: at(-time.Hour), DeadLetters: 2, Steps: []workflow.StepProgress{
				step("hotel", workflow.StepPending, 1, failed(503, ""))}},
			operate.Summary{State: workflow.Running, WakeAt: at(-time.Hour), DeadLetters: 2, Overdue: true, Step: "hotel", Attempts: 1,
				LastError: "503 why", LastErrorAt: at(-time.Second), Unusual: []operate.Trouble{operate.Failing, operate.Overdue, operate.DeadLetters}},
		},
		"rejected": {
			workflow.Progress{State: workflow.Rejected, Cause: workflow.CauseFailed, Steps: []workflow.StepProgress{
				flight, step("hotel", workflow.StepRejected, 1, failed(403, "full"))}},
			operate.Summary{State: workflow.Rejected, Cause: workflow.CauseFailed, Step: "hotel", Attempts: 1, LastError: "403 full: why",
				LastErrorAt: at(-time.Second), Unusual: []operate.Trouble{operate.Forbidden}},
		},
		"an undo is not let in": {
			workflow.Progress{State: workflow.Compensating, Cause: workflow.CauseCancelled, Steps: []workflow.StepProgress{
				flight, undo(workflow.StepUndoing, 4, failed(401, "status"))}},
			operate.Summary{State: workflow.Compensating, Cause: workflow.CauseCancelled, Step: "hotel", Attempts: 4, LastError: "401 status: why",
				LastErrorAt: at(-time.Second), Unusual: []operate.Trouble{operate.Forbidden}},
		},
		"an undo is refused": {
			workflow.Progress{State: workflow.Stuck, Cause: workflow.CauseFailed, Reason: "no way back", Revision: 2, Steps: []workflow.StepProgress{
				undo(workflow.StepUndoing, 1, failed(405, "gone")), flight},
				History: []workflow.StateChange{change(2*time.Minute, workflow.TransitionCompensate, workflow.Compensating), change(time.Minute, workflow.TransitionStick, workflow.Stuck)}},
			operate.Summary{State: workflow.Stuck, Cause: workflow.CauseFailed, Reason: "no way back", Revision: 2, Step: "hotel", Attempts: 1,
				LastError: "405 gone: why", LastErrorAt: at(-time.Second), Since: at(-time.Minute), Unusual: []operate.Trouble{operate.Refused}},
		},
		"was undone": {
			workflow.Progress{State: workflow.Compensated, Cause: workflow.CauseFailed, EndedAt: at(0), Steps: []workflow.StepProgress{
				undo(workflow.StepUndone, 1, nil), step("flight", workflow.StepRejected, 1, failed(400, "full"))}},
			operate.Summary{State: workflow.Compensated, Cause: workflow.CauseFailed, EndedAt: at(0), Step: "flight", Attempts: 1,
				LastError: "400 full: why", LastErrorAt: at(-time.Second), Unusual: []operate.Trouble{operate.Refused}},
		},
		"ended well": {
			workflow.Progress{State: workflow.Completed, EndedAt: at(0), Steps: []workflow.StepProgress{step("hotel", workflow.StepSucceeded, 1, nil)}},
			operate.Summary{State: workflow.Completed, EndedAt: at(0)},
		},
	} {
		p := c.p
		p.ID, c.want.ID = "id", "id"
		if c.want.Unusual == nil {
			c.want.Unusual = []operate.Trouble{}
		}
		w := newWorld(t)
		w.store(&p)
		found := all(t, func(next string) ([]operate.Summary, string, error) {
			return w.operate.List(t.Context(), operate.Filter{}, next)
		})
		for i := range found {
			found[i].ChangedAt = workflow.Instant{} // the store's
		}
		if diff := cmp.Diff([]operate.Summary{c.want}, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Ensure that each filter takes what it says, alone and with others, and that a page
// of what is filtered away is no end.
func TestFilters(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	now := w.Clock.Now()
	add := func(id string, state workflow.State, caller string, accepted time.Duration, cause workflow.Cause, status int, wake time.Duration) {
		p := &workflow.Progress{ID: id, State: state, Caller: caller, Cause: cause, AcceptedAt: workflow.At(now.Add(accepted)), WakeAt: workflow.At(now.Add(wake)),
			Steps: []workflow.StepProgress{{Name: "hotel", State: workflow.StepPending}}}
		if status >= 0 {
			p.Steps[0].Error = &workflow.StepError{Status: status, Message: "no"}
		}
		if state == workflow.Completed {
			p.WakeAt = workflow.Instant{}
		}
		w.store(p)
	}
	for _, id := range strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8") { // in the way of all filters
		add(id, workflow.Accepted, "", -24*time.Hour, "", -1, time.Hour)
	}
	add("down", workflow.Running, "ann", -time.Hour, "", 0, time.Minute)
	add("ill", workflow.Running, "bob", -2*time.Hour, "", 500, time.Minute)
	add("late", workflow.Compensating, "ann", -3*time.Hour, workflow.CauseExpired, -1, -time.Hour)
	add("done", workflow.Completed, "ann", -time.Minute, "", -1, 0)
	const idle = "a1 a2 a3 a4 a5 a6 a7 a8"
	day := func(d time.Duration) string { return url.QueryEscape(now.Add(d).Format(time.RFC3339)) }
	for query, want := range map[string]string{
		"":                                       "t",
		"state=Stuck":                            "t",
		"state=Running":                          "down ill",
		"state=open":                             idle + " down ill late t",
		"state=any":                              idle + " done down ill late t",
		"caller=ann":                             "done down late",
		"caller=ann&state=open":                  "down late",
		"caller=nobody":                          "",
		"state=open&cause=unreachable":           "down",
		"state=open&cause=failing":               "ill",
		"state=open&cause=overdue":               "late",
		"state=open&cause=expired":               "late",
		"state=open&cause=refused":               "t",
		"state=any&cause=cancelled":              "t",
		"state=open&cause=dead-letters":          "",
		"state=Running&step=hotel":               "down ill",
		"state=Running&step=payment":             "",
		"state=open&from=" + day(-time.Hour):     "down t",
		"state=Running&until=" + day(-time.Hour): "ill",
		"state=open&from=" + day(-3*time.Hour) + "&until=" + day(-time.Hour): "ill late",
	} {
		if got := w.listed(query); got != want {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	if _, _, err := w.operate.List(t.Context(), operate.Filter{}, "of nobody"); !failure.Is(err, failure.Invalid) {
		t.Errorf("%v, want invalid", err)
	}
}

// Ensure that one request reads so many pages, and no more.
func TestFilterReadsSoManyPages(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.store(&workflow.Progress{ID: "t-" + string(rune('A'+i)), State: workflow.Running})
	}
	requests := 0
	found := all(t, func(next string) ([]operate.Summary, string, error) {
		requests++
		return w.operate.List(t.Context(), operate.Filter{States: []workflow.State{workflow.Running}, Cause: "refused"}, next)
	})
	if len(found) != 0 || requests != 2 { // 16 pages: an empty one, and 15 of two
		t.Errorf("%d found in %d requests", len(found), requests)
	}
}

func TestFilterTellsAllFaults(t *testing.T) {
	w := newWorld(t)
	faults := func(err error) string {
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Fatal(err)
		}
		var all []string
		for _, f := range p.Errors {
			all = append(all, f.Pointer+" "+f.Detail)
		}
		return strings.Join(all, "; ")
	}
	_, err := w.operate.ReadFilter(url.Values{"state": {"Lost"}, "step": {"boat"}, "cause": {"luck"}, "from": {"today"}, "until": {"1969-01-01T00:00:00Z"},
		"caller": {strings.Repeat("x", operate.MaxBy+1)}})
	want := "?caller must have up to 128 characters; ?state must be one of open, any, Accepted, Running, Completed, Rejected, Compensating, Compensated, Cancelled, Stuck, GivenUp; " +
		"?step must be one of hotel, flight, payment; ?cause must be one of failed, expired, cancelled, unreachable, failing, forbidden, refused, overdue, dead-letters; " +
		"?from must be a time as in RFC 3339, such as 2026-01-31T16:00:00Z; ?until must be in the years 1970 to 9998"
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const noon = "2026-01-31T12:00:00Z"
	if _, err := w.operate.ReadFilter(url.Values{"from": {noon}, "until": {noon}}); faults(err) != "?until must be after from" {
		t.Error(err)
	}
	if _, err := operate.ReadSearch(url.Values{"search": {" "}, "state": {"any"}, "step": {"hotel"}}); faults(err) !=
		"?search is required; ?state does not go with search; ?step does not go with search" {
		t.Error(err)
	}
}

// Ensure that a search finds an id and the business's key, each once.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationStart, "Oslo", "op-1", workflowtest.TripBody()) // its id is its key
	w.Post(workflow.OperationStart, "t", "op-2", workflowtest.TripBody())
	w.Post(workflow.OperationStart, "u", "op-3", workflowtest.TripBody())
	w.Settle()
	for text, want := range map[string]string{"t": "t", "Oslo": "Oslo t u", "oslo": "", "%": "", "Os": ""} {
		var ids []string
		for _, s := range all(t, func(next string) ([]operate.Summary, string, error) { return w.operate.Search(t.Context(), text, next) }) {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
}
