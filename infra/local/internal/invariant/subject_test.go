package invariant

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure what nobody can judge is refused, and named.
func TestNothingIsLeftUnjudged(t *testing.T) {
	for want, spoil := range map[string]func(*business.Business, *trial.Trial){
		"no Ask for the effect of step drone in container assignments": func(_ *business.Business, t *trial.Trial) { t.Effects[2].Ask = nil },
		"step package has an undo, and no container":                   func(_ *business.Business, t *trial.Trial) { t.Effects = t.Effects[1:] },
		"container packages is declared an effect, and nobody can tell": func(_ *business.Business, t *trial.Trial) {
			t.Effects = t.Effects[1:]
		},
		"container mails is declared an effect, and nobody can tell": func(b *business.Business, _ *trial.Trial) {
			b.Backends[0].Containers = append(b.Backends[0].Containers, business.Container{Name: "mails", Effects: true})
		},
		"an effect of step fly in container assignments": func(_ *business.Business, t *trial.Trial) {
			t.Effects = append(t.Effects, trial.Effect{Step: "fly", Container: delivery.AssignmentsContainer})
		},
		"an effect of step drone in container drones": func(_ *business.Business, t *trial.Trial) { t.Effects[2].Container = delivery.DronesContainer },
		`step "account": the name is empty or already used`: func(b *business.Business, _ *trial.Trial) {
			b.Workflow.Steps = append(slices.Clone(b.Workflow.Steps), b.Workflow.Steps[0])
		},
		`step package calls the backend "package", which`: func(b *business.Business, _ *trial.Trial) { b.Backends[1].Name = "parcel" },
		`step package can't be undone without results, which an undo does not see: its path is "packages/"`: func(b *business.Business, _ *trial.Trial) {
			undoes(b, func(in workflow.Input) workflow.Call {
				return workflow.Call{Backend: delivery.StepPackage, Method: "DELETE", Path: "packages/" + string(in.Results[delivery.StepAccount])}
			})
		},
		"step package can't be undone without results, which an undo does not see: runtime error": func(b *business.Business, _ *trial.Trial) {
			undoes(b, func(in workflow.Input) workflow.Call {
				return workflow.Call{Backend: delivery.StepPackage, Method: "DELETE", Path: "packages/" + string(in.Results[delivery.StepAccount][:4])}
			})
		},
		"two functions with the name Progress": func(b *business.Business, _ *trial.Trial) { b.Backends[0].Functions[0].Name = "Progress" },
		"2 kinds with an End have no Percent": func(_ *business.Business, t *trial.Trial) {
			t.Kinds = append(slices.Clone(t.Kinds), t.Kinds[0])
		},
	} {
		b, t2 := chosen.Business(), chosentrial.Trial()
		spoil(&b, t2)
		if _, err := NewSubject(b, t2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	b := chosen.Business()
	b.Backends[1].Containers = append(b.Backends[1].Containers, business.Container{Name: "labels", Effects: true})
	if _, err := NewSubject(b, nil); err == nil || !strings.Contains(err.Error(), "step package has an undo") {
		t.Errorf("without a trial, one of two containers: %v", err)
	}
}

// undoes has the second step undone so.
func undoes(b *business.Business, undo func(workflow.Input) workflow.Call) {
	b.Workflow.Steps = slices.Clone(b.Workflow.Steps)
	b.Workflow.Steps[1].Undo = undo
}

// Ensure that without a trial the rules of every business hold all the same.
func TestWithoutATrial(t *testing.T) {
	bare, err := NewSubject(chosen.Business(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := bare.Check(valid(t).snapshot()); !r.OK() || len(r.Unchecked()) > 0 || len(r.Invariants) != len(rules) {
		t.Errorf("broken:\n%s", text(t, r))
	}
	s := valid(t)
	s.Deliveries = drop(s.Deliveries, recordOf(s.Deliveries, "far"))
	if r := bare.Check(s.snapshot()); r.OK() {
		t.Error("a lost delivery is not found")
	}
}

// Ensure each rule of the business has a break in its trial.
func TestBreaksOfTheTrial(t *testing.T) {
	rules, err := theSubject.trial.Rules(&trial.Stored{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if !slices.ContainsFunc(theSubject.trial.Breaks, func(b trial.Break) bool { return b.Rule == rule.Name }) {
			t.Errorf("the trial has no break for %s", rule.Name)
		}
	}
}

// Ensure there is a break for each rule of every business, a place for each break in a
// snapshot of this one, and that each is found: also without a trial. One that breaks
// nothing is named, and a rule for which there is none.
func TestNoRuleIsBlind(t *testing.T) {
	for _, rule := range rules {
		if !slices.ContainsFunc(breaks, func(b breakOf) bool { return b.rule == rule.name }) {
			t.Errorf("nothing breaks %s", rule.name)
		}
	}
	s := valid(t).snapshot()
	if seen := theSubject.Sight(s); seen.Breaks != len(breaks)+len(theSubject.trial.Breaks) || seen.Missed != nil || len(seen.Unbroken) > 0 {
		t.Errorf("%+v", seen)
	}
	if r := theSubject.Check(s); !r.OK() {
		t.Errorf("the snapshot itself was broken:\n%s", text(t, r))
	}
	bare, err := NewSubject(chosen.Business(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if seen := bare.Sight(s); seen.Breaks != len(breaks) || seen.Missed != nil || len(seen.Unbroken) > 0 {
		t.Errorf("without a trial: %+v", seen)
	}
	bare.trial.Breaks = []trial.Break{{Rule: "flights", Do: func(*trial.Stored) string { return "far" }}}
	if seen := bare.Sight(s); !slices.Equal(seen.Missed, []string{"flights: "}) {
		t.Errorf("a break of a rule that there is not: %+v", seen)
	}
	harmless := *theSubject
	harmless.trial.Breaks = []trial.Break{
		{Rule: "flights", What: "two at a time", Do: func(*trial.Stored) string { return "far" }},
		{Rule: "no such rule", Do: func(*trial.Stored) string { return "far" }},
		{Rule: "drones", What: "no place", Do: func(*trial.Stored) string { return "" }},
	}
	want := Sight{
		Breaks: len(breaks) + 2, Missed: []string{"flights: two at a time", "no such rule: "},
		Unbroken: []string{"customers", "carrier", "confirmed", "schedule", "packages", "grounded", "drones"},
	}
	if diff := cmp.Diff(want, harmless.Sight(s)); diff != "" {
		t.Error(diff)
	}
}
