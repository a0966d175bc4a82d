package bench

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	business "github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that a thousand transactions are of the kinds that the mix says, and mixed.
func TestKindOf(t *testing.T) {
	of := make([]int, len(mix))
	changes := 0
	for n := range 1000 {
		of[kindOf(n)]++
		if kindOf(n) != kindOf(n+1) {
			changes++
		}
		if kindOf(n) != kindOf(n+1_000_000) {
			t.Errorf("%d is of another kind than %d", n, n+1_000_000)
		}
	}
	for kind, want := range mix {
		if of[kind] != want.thousand {
			t.Errorf("%d are %s, want %d", of[kind], want.state, want.thousand)
		}
	}
	if changes < 100 {
		t.Errorf("only %d changes of the kind", changes)
	}
}

// Ensure that stored transactions are what the engine makes: each in its state, with an
// id and a key of its own, and at rest while they are looked at.
func TestStored(t *testing.T) {
	trial := chosen.Trial()
	if trial == nil {
		t.Skip("the business has no trial")
	}
	b := business.Business()
	var steps []string
	for _, step := range b.Workflow.Steps {
		steps = append(steps, step.Name)
	}
	samples, err := load.FromTrial(*trial, b.Resource, steps, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	all, err := newStored(b, samples, now)
	if err != nil {
		t.Fatal(err)
	}
	ids, keys := map[string]bool{}, map[string]bool{}
	for n := range 2000 {
		from, want := all.of(n), mix[kindOf(n)].state
		id, doc := from.copy(n)
		if bytes.Contains(doc, []byte(from.id)) {
			t.Fatalf("the copy has its template's id: %s", doc)
		}
		var p workflow.Progress
		if err := json.Unmarshal(doc, &p); err != nil {
			t.Fatal(err)
		}
		key := keyOf(p.Request, b.Key)
		ids[id], keys[key] = true, true
		if p.ID != id || len(id) != 51 || b.Key != "" && key != storedKey(from.key, n) {
			t.Errorf("%s has the id %s and the key %q", id, p.ID, key)
		}
		open := !p.State.Final() && p.State != workflow.Stuck
		if p.State != want || p.AcceptedAt.After(now) || open != p.WakeAt.After(now.Add(time.Hour)) || open && !p.CompleteBy.After(now) {
			t.Errorf("%s is %s, want %s; accepted %v, wake %v, complete by %v", id, p.State, want, p.AcceptedAt, p.WakeAt, p.CompleteBy)
		}
		if p.State == workflow.Compensated && p.TTL == 0 || len(p.Operations) != 1 || len(p.History) == 0 {
			t.Errorf("no document of the engine: %s", doc)
		}
	}
	if len(ids) != 2000 || b.Key != "" && len(keys) != 2000 {
		t.Errorf("%d ids and %d keys for 2000", len(ids), len(keys))
	}
	if keyOf(json.RawMessage(`{"a":{"b":7}}`), "a.b") != "" || keyOf(json.RawMessage(`{"a":{"b":"x"}}`), "a.b") != "x" || keyOf(nil, "a") != "" {
		t.Error("a field is misread")
	}
}

// Ensure that an instance's report tells of work in every step.
func TestBusy(t *testing.T) {
	steps := []workflow.Step{{Name: "a"}, {Name: "b"}}
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	r := busy("one/7", steps, now)
	if r.Instance != "one/7" || !r.At.Equal(now) || len(r.Steps) != 2 || r.Steps[0].PerSecond != 42.2 || r.Accepting.PerSecond != 42.2 ||
		r.Ends[workflow.Completed] != 42.2 || r.Latency < 0.29 || r.Accepting.Buffer != 17 {
		t.Errorf("%+v", r)
	}
}
