package enginetest_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// outage is a world some of whose services are out of reach for a while. It
// runs in a synctest bubble, whose clock goes with the world's: the circuit
// breaker keeps time by it.
type outage struct {
	*enginetest.World
	services []string // that are out of reach
	kind     string
	begin    time.Time // zero as long as there is none
	end      time.Time

	mu    sync.Mutex
	calls []int // to them, per minute of the outage
	after []int // to them, per second after it

	deliveries int // the highest delivery count of any message
	sweepAt    time.Time
}

// The kinds of outages.
const (
	refuses   = "refuses connections"
	fails     = "answers 503"
	swallowed = "does what it is asked for, and does not answer"
)

func newOutage(t *testing.T, guarded bool, kind string, services ...string) *outage {
	o := &outage{services: services, kind: kind}
	o.World = enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) {
		// Pauses are others' time to work, which this world does not have: they
		// must not make its clock go faster for all.
		c.Pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		if !guarded {
			return
		}
		c.Backends = backendclient.NewGuard(c.Backends, backendclient.Limits{
			CallTimeout: 2 * time.Second, Concurrency: 256,
			Breaker: failure.Breaker{FailureRatio: 0.5, MinCalls: 20, Window: 10 * time.Second, Delay: 10 * time.Second, Probes: 3},
		}, telemetry.NoMetrics(), slog.New(slog.DiscardHandler))
	})
	o.sweepAt = o.Clock.Now()
	o.Backends.OnCall = o.call
	o.Gate.Decide = o.fate
	return o
}

func (o *outage) on() bool { return !o.begin.IsZero() && o.Clock.Now().Before(o.end) }

func (o *outage) meets(path string) bool {
	return slices.ContainsFunc(o.services, func(s string) bool { return strings.HasPrefix(path, s+"s/") })
}

// call counts a call that has come through, and refuses the connection if that
// is how the outage shows. Some payments are declined.
func (o *outage) call(req engine.Attempt) *workflow.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.meets(req.Call.Path) {
		switch now := o.Clock.Now(); {
		case o.on():
			o.calls = count(o.calls, int(now.Sub(o.begin)/time.Minute))
			if o.kind == refuses {
				return &workflow.Outcome{Retry: workflow.RetryLater, Type: "not-sent", Message: "connection refused"}
			}
		case !o.end.IsZero():
			o.after = count(o.after, int(now.Sub(o.end)/time.Second))
		}
	}
	out := o.on() && o.meets(req.Call.Path)
	if !out && !req.Undo && req.Call.Backend == "payment" && strings.ContainsAny(req.TransactionID[len(req.TransactionID)-1:], "047") {
		return new(enginetest.Refused(402, "declined"))
	}
	return nil
}

// fate is what becomes of an effect on a service that is out of reach.
func (o *outage) fate(effect string, _ int) workflowtest.Fate {
	_, path, _ := strings.Cut(effect, " ")
	switch {
	case !o.on() || !o.meets(path):
		return workflowtest.Pass
	case o.kind == swallowed:
		return workflowtest.Lose
	}
	return workflowtest.Refuse
}

func count(counts []int, at int) []int {
	for len(counts) <= at {
		counts = append(counts, 0)
	}
	counts[at]++
	return counts
}

// runTo works off messages, with Sweep now and then, up to a time.
func (o *outage) runTo(t time.Time) {
	o.T.Helper()
	for {
		if ready := o.Queue.Receivable(); len(ready) > 0 {
			o.deliveries = max(o.deliveries, ready[0].Count+1)
			o.Step()
			continue
		}
		next := t
		if at, more := o.Queue.Next(); more && at.Before(next) {
			next = at
		}
		if o.sweepAt.Before(next) {
			next = o.sweepAt
		}
		if d := next.Sub(o.Clock.Now()); d > 0 {
			o.Clock.AdvanceTo(next)
			<-time.After(d)
		}
		if !o.Clock.Now().Before(o.sweepAt) {
			o.sweepAt = o.sweepAt.Add(5 * time.Minute)
			if woken, err := o.Engine.Sweep(context.Background()); err != nil || woken > 0 {
				o.T.Errorf("Sweep woke %d: nobody's wake should be overdue (%v)", woken, err)
			}
		}
		if next.Equal(t) {
			return
		}
	}
}

// open returns how many transactions are not final, and reports what an outage
// must not cost.
func (o *outage) open() int {
	o.T.Helper()
	open := 0
	for _, p := range o.Store.All() {
		if p.State == workflow.Stuck || p.DeadLetters > 0 {
			o.T.Fatalf("%s is %s with %d dead letters:\n%s", p.ID, p.State, p.DeadLetters, enginetest.Describe(p))
		}
		if !p.State.Final() {
			open++
		}
	}
	if o.deliveries > 1 || len(o.Quarantine) > 0 {
		o.T.Fatalf("a message was delivered %d times, %d are in quarantine", o.deliveries, len(o.Quarantine))
	}
	return open
}

// post delivers the nth transaction.
func (o *outage) post(n int) {
	o.T.Helper()
	id := transaction(n)
	o.Post(workflow.OperationStart, id, "op-"+id, workflowtest.TripBody())
}

// start begins the outage with n transactions that are Completed, of which
// every second one is cancelled then.
func (o *outage) start(n int, lasts time.Duration) {
	o.T.Helper()
	for i := range n {
		o.post(i)
	}
	o.runTo(o.Clock.Now().Add(time.Minute))
	o.begin = o.Clock.Now()
	o.end = o.begin.Add(lasts)
	for i := 0; i < n; i += 2 {
		id := transaction(i)
		o.Post(workflow.OperationCancel, id, "cancel-"+id, nil)
	}
}

func transaction(n int) string { return fmt.Sprintf("t-%03d", n) }

// settled runs on until all has ended that can be expected to: the longest delay
// after the outage, and some time for what is left to do then.
func (o *outage) settled() {
	o.T.Helper()
	o.runTo(o.end.Add(o.Engine.Budgets.LaterMax + time.Minute))
	if n := o.open(); n > 0 {
		o.T.Errorf("%d are still open", n)
	}
	check(o.T.(*testing.T), o.World, workflow.Completed, workflow.Compensated, workflow.Cancelled)
}

// TestOutageOfABackend takes services away for ten minutes: from transactions
// that run, from those that are being undone, and from those that come in the
// meantime. It costs no dead letter and no hot loop, and all of them end as they
// should soon after it.
func TestOutageOfABackend(t *testing.T) {
	one, all := []string{"hotel"}, []string{"hotel", "flight", "payment"}
	for _, tc := range []struct {
		guarded  bool
		kind     string
		services []string
	}{
		{true, refuses, one}, {true, fails, one}, {true, swallowed, one}, {true, fails, []string{"payment"}}, {true, swallowed, all},
		{false, fails, one}, {false, swallowed, all},
	} {
		name := fmt.Sprintf("%s %s, guarded %v", strings.Join(tc.services, " and "), tc.kind, tc.guarded)
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tenMinutes(t, newOutage(t, tc.guarded, tc.kind, tc.services...), tc.guarded)
			})
		})
	}
}

func tenMinutes(t *testing.T, o *outage, guarded bool) {
	const (
		before = 80  // transactions that are there when the outage begins
		during = 150 // that come while it lasts
	)
	o.start(before, 10*time.Minute)
	sent := o.Queue.Sent()
	for n := range during {
		o.runTo(o.begin.Add(time.Duration(n) * 4 * time.Second))
		o.post(before + n)
	}
	o.runTo(o.end)
	open, wakes := o.open(), o.Queue.Sent()-sent-during
	t.Logf("%d open, %d wakes, calls per minute %v", open, wakes, o.calls)
	if open < during {
		t.Errorf("only %d are open: the outage has not met them", open)
	}
	// A transaction that fails at once and again is woken after 5 s, 10, 20, 40 …
	// and, from the 7th time on, 300; the jitter takes up to a half away.
	if most := 10 * (before + during); !guarded && wakes > most {
		t.Errorf("%d wakes in ten minutes, want %d at most", wakes, most)
	}
	for minute, n := range o.calls {
		most := 3 * (before + during) // in place, once a minute
		if guarded {
			most = 7 // a probe for each delay of 10 s
		}
		if guarded && minute == 0 {
			most += 25 // what it takes to open the breaker
		}
		if most *= len(o.services); n > most {
			t.Errorf("%d calls in minute %d, want %d at most", n, minute, most)
		}
	}
	o.settled()
	total := 0
	for _, n := range o.after {
		total += n
	}
	if most := slices.Max(o.after); most > total/10 {
		t.Errorf("%d of %d calls come in one second after the outage:\n%v", most, total, o.after)
	}
	t.Logf("after it, %d calls within %d s, %d in one of them", total, len(o.after), slices.Max(o.after))
}

// TestLongOutageLeavesNobodyStuck takes a service away from transactions that
// are being undone: an operator would have to retry each of them by hand. A
// service that fails has the better part of a day, one that can't be reached
// any time.
func TestLongOutageLeavesNobodyStuck(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		for kind, lasts := range map[string]time.Duration{refuses: 40 * time.Hour, fails: 16 * time.Hour} {
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s, guarded %v", kind, guarded), " ", "-"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := newOutage(t, guarded, kind, "hotel")
					o.start(8, lasts)
					sent := o.Queue.Sent()
					o.runTo(o.end)
					most := 0
					for _, p := range o.Store.All() {
						most = max(most, p.Step("hotel").UndoLaters)
					}
					t.Logf("%d open, %d wakes, %d of one counted", o.open(), o.Queue.Sent()-sent, most)
					o.settled()
				})
			})
		}
	}
}
