package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func notifyingWorld(t *testing.T) *enginetest.World {
	return enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) { c.Budgets.Notify = true })
}

// untold puts n Completed transactions into the store, nobody was told of which.
func untold(t *testing.T, w *enginetest.World, n int) {
	t.Helper()
	for i := range n {
		p := w.Engine.Definition.New(fmt.Sprintf("n-%03d", i), w.Clock.Now(), w.Engine.Budgets.Limits())
		p.State = workflow.Running
		if err := p.Complete("", w.Clock.Now(), w.Engine.Budgets.Limits()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Store.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func sweep(t *testing.T, w *enginetest.World, woken int) {
	t.Helper()
	if n, err := w.Engine.Sweep(t.Context()); n != woken || err != nil {
		t.Fatalf("woke %d (%v), want %d", n, err, woken)
	}
}

// Ensure notices that nobody has delivered are asked for again, at once and not
// at every run, and that nothing but the outbox is changed for it.
func TestSweepOfNotices(t *testing.T) {
	w := notifyingWorld(t)
	untold(t, w, 3)
	before := w.Store.Get("n-000")
	w.Clock.Advance(time.Minute)
	sweep(t, w, 0)
	if n := w.Queue.Len(); n != 0 {
		t.Fatalf("%d messages within the grace", n)
	}
	w.Clock.Advance(time.Second)
	for range 2 {
		sweep(t, w, 0)
	}
	if n := len(w.Queue.Receivable()); n != 3 {
		t.Errorf("%d messages can be received, want one for each", n)
	}
	p := w.Store.Get("n-000")
	if p.Outbox.Wake != 2 || !p.Outbox.At.Equal(w.Clock.Now()) || p.Outbox.Laters != 0 || !w.Queue.Has("n-000/notifications/2") {
		t.Errorf("outbox %+v", p.Outbox)
	}
	if p.Saves != before.Saves || p.Wake != before.Wake || !p.WakeAt.IsZero() || p.Sweeps != 0 {
		t.Errorf("more was changed:\n%s", enginetest.Describe(p))
	}
	w.Clock.Advance(61 * time.Second)
	sweep(t, w, 0)
	if n := w.Queue.Len(); n != 6 {
		t.Errorf("%d messages when still nobody has answered, want 6", n)
	}
}

// Ensure many notices neither keep Sweep from what must go on nor are all asked
// for in one run.
func TestSweepWithABacklogOfNotices(t *testing.T) {
	w := notifyingWorld(t)
	w.Store.PageSize = 100
	untold(t, w, 800)
	abandon(t, w, 10)
	w.Clock.Advance(2 * time.Minute)
	sweep(t, w, 10)
	if n := w.Queue.Len(); n != 10+500 {
		t.Errorf("%d messages, want 10 wakes and 500 for notices", n)
	}
}

// Ensure nothing is looked for or sent when nobody is to be told.
func TestSweepWithoutNotices(t *testing.T) {
	w := notifyingWorld(t)
	untold(t, w, 1)
	w.Engine.Budgets.Notify = false
	w.Clock.Advance(time.Hour)
	writes := w.Store.Writes()
	sweep(t, w, 0)
	if w.Queue.Len() != 0 || w.Store.Writes() != writes {
		t.Error("somebody was to be told")
	}
}

// Ensure a run goes on after a failure, and that the next one mends it.
func TestSweepOfNoticesGoesOnAfterAFailure(t *testing.T) {
	for effect, fates := range map[string][]workflowtest.Fate{
		"read n-001":                 {workflowtest.Refuse},
		"replace n-001":              {workflowtest.Refuse, workflowtest.Lose},
		"send n-001/notifications/2": {workflowtest.Refuse, workflowtest.Lose},
	} {
		for _, fate := range fates {
			t.Run(fmt.Sprint(effect, " ", fate), func(t *testing.T) {
				w := notifyingWorld(t)
				untold(t, w, 3)
				w.Clock.Advance(2 * time.Minute)
				w.Gate.Decide = func(name string, n int) workflowtest.Fate {
					if name == effect && n == 1 {
						return fate
					}
					return workflowtest.Pass
				}
				if _, err := w.Engine.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "n-001") {
					t.Errorf("error %v", err)
				}
				w.Clock.Advance(2 * time.Minute)
				sweep(t, w, 0)
				for i := range 3 {
					p := w.Store.Get(fmt.Sprintf("n-%03d", i))
					if !w.Queue.Has(fmt.Sprintf("%s/notifications/%d", p.ID, p.Outbox.Wake)) {
						t.Errorf("the message of %s was not sent: %+v", p.ID, p.Outbox)
					}
				}
			})
		}
	}
}

// Ensure Sweep leaves alone the notices that someone has seen to since they were
// listed, and what another changes at the same time.
func TestSweepSkipsNoticesThatWereSeenTo(t *testing.T) {
	for name, change := range map[string]func(*workflow.Progress, time.Time){
		"delivered": func(p *workflow.Progress, _ time.Time) { p.Notified(1) },
		"put off":   func(p *workflow.Progress, now time.Time) { p.RaiseNotice(now.Add(time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := notifyingWorld(t)
			untold(t, w, 1)
			w.Clock.Advance(2 * time.Minute)
			w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
				if effect == "read n-000" {
					if err := w.Store.Change("n-000", func(p *workflow.Progress) { change(p, w.Clock.Now()) }); err != nil {
						t.Error(err)
					}
				}
				return workflowtest.Pass
			}
			sweep(t, w, 0)
			if n := w.Queue.Len(); n != 0 {
				t.Errorf("%d messages", n)
			}
		})
	}
	w := notifyingWorld(t)
	untold(t, w, 1)
	w.Clock.Advance(2 * time.Minute)
	w.Store.BeforeReplace = func(id string) {
		if err := w.Store.Change(id, func(p *workflow.Progress) { p.DeadLetters++ }); err != nil {
			t.Error(err)
		}
	}
	sweep(t, w, 0)
	if n := w.Queue.Len(); n != 0 {
		t.Errorf("%d messages beside another's change", n)
	}
}

// Ensure Sweep does not write documents of a newer version of the code: it would
// drop what it does not know.
func TestSweepLeavesNewerDocumentsAlone(t *testing.T) {
	w := notifyingWorld(t)
	untold(t, w, 1)
	abandon(t, w, 1)
	for _, id := range []string{"n-000", "t-00"} {
		if err := w.Store.Change(id, func(p *workflow.Progress) { p.Schema = workflow.Schema + 1 }); err != nil {
			t.Fatal(err)
		}
	}
	writes := w.Store.Writes()
	w.Clock.Advance(time.Hour)
	sweep(t, w, 0)
	if w.Store.Writes() != writes || w.Queue.Len() != 0 {
		t.Errorf("%d writes, %d messages", w.Store.Writes()-writes, w.Queue.Len())
	}
}

// Ensure a transaction that dead letters have made Stuck is told of.
func TestStuckByDeadLettersIsANotice(t *testing.T) {
	w := notifyingWorld(t)
	abandon(t, w, 1)
	w.Clock.Advance(2 * time.Minute)
	for range 4 {
		die(t, w, w.Store.Get("t-00").Wake)
	}
	p := wantStateOf(t, w, "t-00", workflow.Stuck)
	if len(p.Outbox.Notices) != 1 || p.Outbox.Notices[0].State != workflow.Stuck || !w.Queue.Has("t-00/notifications/1") {
		t.Errorf("outbox %+v", p.Outbox)
	}
}
