package workflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func TestStagesToCompleted(t *testing.T) {
	r := delivered(t).want(workflow.Running, "hotel", "flight")
	r.finish(ok, ok).want(workflow.Running, "payment")
	r.finish(ok).want(workflow.Completed).wantOperation("op-1", workflow.OperationApplied)
	r.wantStep("payment", workflow.StepSucceeded, workflow.EffectYes, 1)
	if p := r.p; p.TTL == 0 || p.EndedAt.IsZero() {
		t.Errorf("TTL %d, end %s", p.TTL, p.EndedAt)
	}
}

func TestOutcomesOfAStage(t *testing.T) {
	declined := workflow.Outcome{Effect: workflow.EffectYes, Status: 200, Result: json.RawMessage(`{"declined":true}`)}
	for name, tc := range map[string]struct {
		outcomes []workflow.Outcome // of hotel and flight
		state    workflow.State
		inFlight []string
		cause    workflow.Cause
	}{
		"both succeed":                          {[]workflow.Outcome{ok, ok}, workflow.Running, []string{"payment"}, ""},
		"one waits, nothing goes on":            {[]workflow.Outcome{ok, later}, workflow.Running, nil, ""},
		"both refused, nothing to undo":         {[]workflow.Outcome{never, never}, workflow.Rejected, nil, workflow.CauseFailed},
		"refused beside a success":              {[]workflow.Outcome{ok, never}, workflow.Compensating, nil, workflow.CauseFailed},
		"refused beside a doubt":                {[]workflow.Outcome{later, never}, workflow.Compensating, nil, workflow.CauseFailed},
		"refused beside what was not sent":      {[]workflow.Outcome{busy, never}, workflow.Rejected, nil, workflow.CauseFailed},
		"a success that is not accepted":        {[]workflow.Outcome{declined, busy}, workflow.Compensating, nil, workflow.CauseFailed},
		"nothing was sent, both are tried once": {[]workflow.Outcome{busy, busy}, workflow.Running, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := delivered(t).finish(tc.outcomes...).want(tc.state, tc.inFlight...).wantCause(tc.cause)
			if tc.cause != "" {
				r.wantOperation("op-1", workflow.OperationRefused)
			}
		})
	}
}

// Ensure a step's effect is the highest over its attempts: a doubt is not
// taken back by a later refusal.
func TestDoubtThenRefusal(t *testing.T) {
	r := delivered(t).finish(later, busy).want(workflow.Running)
	r.now = r.now.Add(time.Hour)
	r.advance().want(workflow.Running, "hotel", "flight")
	r.finish(never, busy).want(workflow.Compensating).wantStep("hotel", workflow.StepRejected, workflow.EffectMaybe, 0)
}

func TestWaitingStepDoesNotHoldUpTheOther(t *testing.T) {
	r := delivered(t).finish(ok, later)
	r.wantStep("hotel", workflow.StepSucceeded, workflow.EffectYes, 1)
	r.wantStep("flight", workflow.StepPending, workflow.EffectMaybe, 0)
	next := r.d.NextAt(r.p, r.now)
	if want := r.p.Step("flight").NotBefore.Time; !next.Equal(want) || !next.After(r.now) {
		t.Errorf("next look at %s, want %s", next, want)
	}
	r.now = next
	r.advance().want(workflow.Running, "flight")
	if n := r.p.Step("flight").Attempts; n != 2 {
		t.Errorf("attempts %d, want 2", n)
	}
}

func TestLatersGrowUntilSomethingSucceeds(t *testing.T) {
	r := delivered(t)
	var delays []time.Duration
	for range 3 {
		r.finish(later, later)
		delays = append(delays, r.d.NextAt(r.p, r.now).Sub(r.now))
		r.now = r.d.NextAt(r.p, r.now)
		r.advance()
	}
	r.finish(ok, later)
	delays = append(delays, r.d.NextAt(r.p, r.now).Sub(r.now))
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 5 * time.Second}
	if diff := cmp.Diff(want, delays); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, tc := range []struct{ asked, want time.Duration }{
		{time.Second, time.Second}, {7 * time.Minute, 7 * time.Minute}, {365 * 24 * time.Hour, workflow.MaxRetryAfter},
	} {
		o := busy
		o.Status, o.RetryAfter = 429, tc.asked
		r := delivered(t).finish(ok, o)
		if got := r.d.NextAt(r.p, r.now).Sub(r.now); got != tc.want {
			t.Errorf("asked to wait %s: waits %s, want %s", tc.asked, got, tc.want)
		}
	}
}

// Ensure a limit on this side does not make a step wait for less than it would
// without.
func TestOwnLimitOnlyMakesTheDelayLonger(t *testing.T) {
	for _, tc := range []struct{ asked, want time.Duration }{
		{time.Second, backoff.Min}, {7 * time.Minute, 7 * time.Minute},
	} {
		o := busy
		o.Status, o.RetryAfter = 0, tc.asked
		r := delivered(t).finish(ok, o)
		if got := r.d.NextAt(r.p, r.now).Sub(r.now); got != tc.want {
			t.Errorf("refused for %s: waits %s, want %s", tc.asked, got, tc.want)
		}
	}
}

// Ensure a run that has no time to call leaves the steps as they were.
func TestNoTimeToCall(t *testing.T) {
	r := delivered(t)
	r.d.Record(r.p, []workflow.Finished{{Step: "hotel"}, {Step: "flight"}}, backoff, r.now)
	turn := r.turn()
	turn.Start = false
	if err := r.d.Advance(r.p, turn); err != nil {
		t.Fatal(err)
	}
	r.want(workflow.Running).wantStep("hotel", workflow.StepPending, workflow.EffectNo, 0)
	if n := r.p.Step("hotel").Attempts; n != 0 {
		t.Errorf("attempts %d, want 0", n)
	}
	if r.p.Laters != 0 {
		t.Errorf("laters %d, want 0", r.p.Laters)
	}
	if next := r.d.NextAt(r.p, r.now); !next.Equal(r.now) {
		t.Errorf("next look at %s, want now", next)
	}
}

func TestExpiry(t *testing.T) {
	for name, tc := range map[string]struct {
		outcomes []workflow.Outcome
		state    workflow.State
	}{
		"nothing to undo":    {[]workflow.Outcome{busy, busy}, workflow.Rejected},
		"something to undo":  {[]workflow.Outcome{ok, busy}, workflow.Compensating},
		"something in doubt": {[]workflow.Outcome{busy, later}, workflow.Compensating},
	} {
		t.Run(name, func(t *testing.T) {
			r := delivered(t).finish(tc.outcomes...)
			r.now = r.p.CompleteBy.Time
			r.advance().want(tc.state).wantCause(workflow.CauseExpired).wantOperation("op-1", workflow.OperationRefused)
		})
	}
}

func TestNotExpiredYet(t *testing.T) {
	r := delivered(t).finish(ok, busy)
	r.now = r.p.CompleteBy.Add(-time.Millisecond)
	r.advance().want(workflow.Running, "flight")
}

// Ensure success counts before expiry, and a wake that has come is due whatever
// the clock says.
func TestExpiryOrder(t *testing.T) {
	r := delivered(t).finish(ok, ok)
	r.now = r.p.CompleteBy.Add(time.Hour)
	r.finish(ok).want(workflow.Completed)

	r = delivered(t).finish(ok, later)
	turn := r.turn()
	turn.Due = r.p.Step("flight").NotBefore.Time
	if err := r.d.Advance(r.p, turn); err != nil {
		t.Fatal(err)
	}
	r.want(workflow.Running, "flight")
}

func TestAbandonedIsInDoubt(t *testing.T) {
	r := delivered(t)
	r.p.Abandoned()
	r.wantStep("hotel", workflow.StepPending, workflow.EffectMaybe, 0)
	r.advance().want(workflow.Running, "hotel", "flight").finish(never, never).want(workflow.Compensating)
}

// Ensure a step's call depends on nothing but the results that it names, so that
// it is the same whatever other steps do, and an undo on none at all.
func TestInputOfACall(t *testing.T) {
	var seen []workflow.Input
	note := func(in workflow.Input) workflow.Call { seen = append(seen, in); return workflow.Call{} }
	d := &workflow.Definition{Steps: []workflow.Step{
		{Name: "a", Call: note}, {Name: "b", Call: note}, {Name: "c", After: []string{"a"}, Uses: []string{"a"}, Call: note},
		{Name: "d", After: []string{"c"}, Uses: []string{"a"}, Call: note, Undo: note},
	}}
	p := d.New("t", workflowtest.Start, limits)
	for i := range p.Steps {
		p.Steps[i].State, p.Steps[i].Revision = workflow.StepSucceeded, 1
		p.Steps[i].Result = json.RawMessage(`"` + p.Steps[i].Name + `"`)
	}
	for _, name := range []string{"a", "c", "d"} {
		d.CallOf(p, name)
	}
	d.UndoOf(p, "d")
	result := func(names ...string) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for _, n := range names {
			m[n] = json.RawMessage(`"` + n + `"`)
		}
		return m
	}
	for i, want := range []map[string]json.RawMessage{result(), result("a"), result("a"), result()} {
		if diff := cmp.Diff(want, seen[i].Results); diff != "" {
			t.Errorf("input %d (-want +got):\n%s", i, diff)
		}
	}
}

// Ensure a step that the definition has got since is made up for.
func TestDefinitionHasGrown(t *testing.T) {
	r := delivered(t)
	r.finish(ok, ok)
	call := func(workflow.Input) workflow.Call { return workflow.Call{} }
	r.d.Steps = append(r.d.Steps, workflow.Step{Name: "insurance", Call: call})
	r.finish(ok).want(workflow.Running, "insurance").finish(ok).want(workflow.Completed)
}

func TestValidate(t *testing.T) {
	call := func(workflow.Input) workflow.Call { return workflow.Call{} }
	for name, tc := range map[string]struct {
		steps []workflow.Step
		valid bool
	}{
		"good":     {[]workflow.Step{{Name: "a", Call: call}, {Name: "b", Call: call, After: []string{"a"}}}, true},
		"no steps": {nil, false},
		"no name":  {[]workflow.Step{{Call: call}}, false},
		"twice":    {[]workflow.Step{{Name: "a", Call: call}, {Name: "a", Call: call}}, false},
		"no call":  {[]workflow.Step{{Name: "a"}}, false},
		"uses a stranger's": {
			[]workflow.Step{{Name: "a", Call: call}, {Name: "b", Call: call}, {Name: "c", Call: call, After: []string{"a"}, Uses: []string{"b"}}}, false},
		"after itself": {[]workflow.Step{{Name: "a", Call: call, After: []string{"a"}}}, false},
		"after a later": {
			[]workflow.Step{{Name: "a", Call: call, After: []string{"b"}}, {Name: "b", Call: call}}, false},
	} {
		d := &workflow.Definition{Name: name, Steps: tc.steps}
		if err := d.Validate(); (err == nil) != tc.valid {
			t.Errorf("%s: error %v, want valid: %v", name, err, tc.valid)
		}
	}
}

// Ensure those who were told the same Retry-After do not come back at one
// instant, and never before it.
func TestRetryAfterIsSpread(t *testing.T) {
	o := busy
	o.Status, o.RetryAfter = 429, time.Second
	waits := map[time.Duration]bool{}
	for _, jitter := range []float64{0, 0.3, 0.6, 0.9} {
		r := delivered(t)
		b := backoff
		b.Jitter = jitter
		r.d.Record(r.p, r.results([]workflow.Outcome{ok, o}), b, r.now)
		wait := r.d.NextAt(r.p, r.now).Sub(r.now)
		if wait < time.Second || wait > time.Second+backoff.Min {
			t.Errorf("jitter %g: waits %s", jitter, wait)
		}
		waits[wait] = true
	}
	if len(waits) != 4 {
		t.Errorf("waits %v, want four different ones", waits)
	}
}
