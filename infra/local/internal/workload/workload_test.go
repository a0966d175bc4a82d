package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// drawn is the body of a request of the samples.
type drawn struct {
	Name   string    `json:"name"`
	Number int       `json:"number"`
	Final  time.Time `json:"final"`
}

func draw(d trial.Draw) any { return drawn{d.Name, d.Random.IntN(1000), d.At.Add(d.Wait)} }

// samples are those of a business in small.
var samples = trial.Trial{
	Kinds: []trial.Kind{
		{Name: "plain", Text: "done", End: workflow.Completed, Draw: draw},
		{Name: "far", Text: "done from afar", Percent: 8, End: workflow.Completed, Draw: draw},
		{Name: "suspended", Text: "not let in", Percent: 2, End: workflow.Rejected, Draw: draw},
		{Name: "unknown", Text: "not known", Percent: 2, End: workflow.Rejected, Draw: draw},
		{Name: "heavy", Text: "taken back", Percent: 3, End: workflow.Compensated, Draw: draw},
		{Name: "malformed", Text: "not understood", Percent: 1, Draw: draw},
	},
	Change: func(d trial.Draw, request json.RawMessage) any { return []any{d.Random.IntN(1000), request} },
}

func planOf(t *testing.T, seed uint64, requests int) []Item {
	t.Helper()
	items, err := Plan(samples, seed, "run", requests, start)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// told is what can be compared of an item.
func told(items []Item) []string {
	var all []string
	for _, it := range items {
		all = append(all, fmt.Sprintf("%s %s %s %s %t %s %s %s %s", it.Kind.Name, it.Name, it.ID, it.Key, it.Twice, it.Then, it.OperationKey, it.Body, it.Change))
	}
	return all
}

func TestPlanIsReproducible(t *testing.T) {
	if diff := cmp.Diff(told(planOf(t, 7, 200)), told(planOf(t, 7, 200))); diff != "" {
		t.Errorf("the same plan differs:\n%s", diff)
	}
	if cmp.Equal(told(planOf(t, 7, 200)), told(planOf(t, 8, 200))) {
		t.Error("another seed gives the same plan")
	}
}

func TestPlanHasEveryKind(t *testing.T) {
	for _, requests := range []int{MinRequests, 100, 1000} {
		counts, acts, names := map[string]int{}, map[string]int{}, map[string]bool{}
		for _, it := range planOf(t, 1, requests) {
			counts[it.Kind.Name]++
			names[it.Name] = true
			acts[string(it.Then)]++
			var body drawn
			if err := json.Unmarshal(it.Body, &body); err != nil || body.Name != it.Name {
				t.Errorf("%s asks for %s", it.Name, it.Body)
			}
			if it.Twice {
				acts["twice"]++
			}
			if it.Twice == (it.ID+it.Key == "") || (it.Then == "") == body.Final.After(start) || (it.Change != nil) != (it.Then == workflow.OperationReschedule) {
				t.Errorf("%+v", it)
			}
		}
		total := 0
		for _, k := range samples.Kinds {
			if counts[k.Name] == 0 {
				t.Errorf("%d requests: none is %s", requests, k.Name)
			}
			total += counts[k.Name]
		}
		if total-counts["malformed"] != requests || len(names) != total {
			t.Errorf("%d requests planned, want %d; %d names", total-counts["malformed"], requests, len(names))
		}
		for _, act := range []workflow.OperationKind{"twice", workflow.OperationCancel, workflow.OperationReschedule} {
			if n := acts[string(act)]; n != max(1, requests*actedPercent/100) {
				t.Errorf("%d requests: %d are %s", requests, n, act)
			}
		}
	}
	fixed := samples
	fixed.Change = nil
	items, err := Plan(fixed, 1, "run", 100, start)
	if err != nil || slices.ContainsFunc(items, func(it Item) bool { return it.Then == workflow.OperationReschedule }) {
		t.Errorf("changed although nothing can be: %v", err)
	}
	fixed.Kinds = []trial.Kind{{Name: "odd", End: workflow.Completed, Draw: func(trial.Draw) any { return func() {} }}}
	if _, err := Plan(fixed, 1, "run", 100, start); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("of what can't be drawn: %v", err)
	}
}

// ended returns the requests of a plan as if every one had ended as planned.
func ended(t *testing.T) []*request {
	t.Helper()
	var all []*request
	for i, it := range planOf(t, 1, 100) {
		d := &request{Item: it, sent: start}
		if it.malformed() {
			d.err = fmt.Errorf("POST: %w", &Refusal{Status: http.StatusBadRequest})
			all = append(all, d)
			continue
		}
		d.receipt = Receipt{TransactionID: fmt.Sprintf("t-%d", i), OperationID: fmt.Sprintf("o-%d", i)}
		d.last = View{State: string(it.end()), EndedAt: start.Add(time.Duration(i+1) * time.Millisecond)}
		if it.Twice {
			d.repeat = new(d.receipt)
		}
		if it.Then != "" {
			d.operation = Receipt{d.receipt.TransactionID, "x-" + d.receipt.OperationID}
			d.last.Operations = []Operation{{ID: d.operation.OperationID, State: "Applied"}}
		}
		all = append(all, d)
	}
	return all
}

func one(t *testing.T, all []*request, is func(*request) bool) *request {
	t.Helper()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		t.Fatal("there is no such request")
	}
	return all[i]
}

func kind(name string) func(*request) bool {
	return func(d *request) bool { return d.Kind.Name == name && d.Then == "" && !d.Twice }
}

func then(kind workflow.OperationKind) func(*request) bool {
	return func(d *request) bool { return d.Then == kind }
}

func TestSummaryOfAGoodRun(t *testing.T) {
	s := summarize(ended(t))
	s.Quarantined = 1
	s.judgeQuarantine()
	if !s.OK() {
		t.Errorf("not OK: %v", s.Faults)
	}
	if s.Accepted != 100 || s.Refused != 1 || s.Rejected != 4 || s.Compensated != 3 || s.Cancelled != 4 || s.Rescheduled != 4 || s.Duplicates != 4 {
		t.Errorf("counts: %+v", s)
	}
	if s.P50 <= 0 || s.P99 < s.P50 {
		t.Errorf("p50 %v, p99 %v", s.P50, s.P99)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "every one is final") || !strings.Contains(text.String(), "done; done from afar") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// Ensure that each thing that can go wrong is named with its id.
func TestSummaryFindsFaults(t *testing.T) {
	cases := map[string]struct {
		of    func(*request) bool
		spoil func(*request)
		want  string
	}{
		"wrong end":        {kind("plain"), func(d *request) { d.last.State = "Compensated" }, "want Completed"},
		"open":             {kind("far"), func(d *request) { d.last.State = "Running" }, "want Completed"},
		"not accepted":     {kind("plain"), func(d *request) { d.err = errors.New("boom") }, "not accepted: boom"},
		"second request":   {func(d *request) bool { return d.Twice }, func(d *request) { d.repeat.TransactionID = "other" }, "other ids"},
		"refused cancel":   {then(workflow.OperationCancel), func(d *request) { d.last.Operations[0].State = "Refused" }, "is Refused"},
		"lost operation":   {then(workflow.OperationReschedule), func(d *request) { d.last.Operations = nil }, "not in the transaction"},
		"malformed passed": {kind("malformed"), func(d *request) { d.err = nil }, "instead of 400"},
		"same id twice":    {kind("plain"), func(d *request) { d.receipt.TransactionID = "t-taken" }, "another request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := ended(t)
			if c.want == "another request" {
				one(t, all, kind("far")).receipt.TransactionID = "t-taken"
			}
			d := one(t, all, c.of)
			c.spoil(d)
			s := summarize(all)
			if s.OK() || len(s.Faults) == 0 || !strings.Contains(strings.Join(s.Faults, "\n"), c.want) {
				t.Errorf("OK %v, faults %v; want one with %q", s.OK(), s.Faults, c.want)
			}
		})
	}
}

// Ensure that a client may come too late where nothing waits for it, and only there.
func TestTooLate(t *testing.T) {
	all := ended(t)
	refused, shut := one(t, all, then(workflow.OperationCancel)), one(t, all, then(workflow.OperationReschedule))
	refused.last.State, refused.last.Operations[0].State = "Completed", "Refused"
	shut.operation, shut.last.Operations = Receipt{}, nil
	if s := summarize(all); s.TooLate != 0 || len(s.Faults) == 0 {
		t.Errorf("%d too late, faults %v", s.TooLate, s.Faults)
	}
	refused.Racing, shut.Racing = true, true
	s := summarize(all)
	if s.Quarantined = 1; s.TooLate != 2 || !s.OK() {
		t.Errorf("%d too late, faults %v", s.TooLate, s.Faults)
	}
	waitless := samples
	waitless.Kinds = slices.Clone(samples.Kinds)
	waitless.Kinds[0].Draw = func(d trial.Draw) any { return drawn{Name: d.Name} }
	for _, c := range []struct {
		trial  trial.Trial
		racing bool
	}{{samples, false}, {waitless, true}} {
		items, err := Plan(c.trial, 1, "run", 100, start)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if it.Racing != (c.racing && it.Then != "") {
				t.Errorf("%s %s: racing %t", it.Name, it.Then, it.Racing)
			}
		}
	}
}

func TestSummaryMissesPoison(t *testing.T) {
	s := summarize(ended(t))
	s.judgeQuarantine()
	if s.OK() {
		t.Error("OK without the poison event in quarantine")
	}
}

func TestViewEnded(t *testing.T) {
	for _, c := range []struct {
		json, operation string
		want            bool
	}{
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "", true},
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "a", true},
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "b", false},
		{`{"state":"Completed","operations":[{"id":"a","state":"Pending"}]}`, "a", false},
		{`{"state":"Stuck"}`, "", false},
		{`{"state":"Cancelled"}`, "", true},
	} {
		var v View
		if err := json.Unmarshal([]byte(c.json), &v); err != nil {
			t.Fatal(err)
		}
		if v.Ended(c.operation) != c.want {
			t.Errorf("%s: ended %v", c.json, !c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	var ds []time.Duration
	for i := 100; i >= 1; i-- {
		ds = append(ds, time.Duration(i))
	}
	if p50, p95, p99 := Quantiles(ds); p50 != 50 || p95 != 95 || p99 != 99 {
		t.Errorf("p50 %d, p95 %d, p99 %d", p50, p95, p99)
	}
	if p50, _, _ := Quantiles(nil); p50 != 0 {
		t.Errorf("of none: %d", p50)
	}
}
