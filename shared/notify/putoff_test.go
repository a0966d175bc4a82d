package notify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure a receiver that is down gets what it has missed, in its order, that the
// attempts become rarer, and that each message stands for one attempt.
func TestReceiverIsDownForAWhile(t *testing.T) {
	w := newWorld(t, 1)
	var posts []time.Time
	start := w.Clock.Now()
	w.receiver.OnPost = func(notify.CloudEvent) error {
		posts = append(posts, w.Clock.Now())
		if w.Clock.Now().Sub(start) < time.Hour {
			return errDown
		}
		return nil
	}
	w.deliver()
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Post(workflow.OperationCancel, "t", "op-3", nil)
	w.Settle()
	w.check()
	if len(posts) < 12 || len(posts) > 40 {
		t.Errorf("%d posts in an hour's outage", len(posts))
	}
	if n := w.Queue.Sent(); n > len(posts)+8 {
		t.Errorf("%d messages for %d posts", n, len(posts))
	}
	for i := 2; i < len(posts)-3; i++ {
		if wait := posts[i].Sub(posts[i-1]); wait < 0 || wait > 5*time.Minute+time.Second {
			t.Errorf("post %d comes %v after the one before", i, wait)
		}
	}
	if last := posts[len(posts)-4].Sub(posts[len(posts)-5]); last < 2*time.Minute {
		t.Errorf("in the end the posts come every %v", last)
	}
}

// Ensure a notice that can't be delivered is put off by a save and the message
// that it speaks of, and that the message is answered with success.
func TestPutOff(t *testing.T) {
	w := newWorld(t, 1)
	w.receiver.OnPost = func(notify.CloudEvent) error { return errDown }
	w.deliver()
	before := w.Store.Get("t")
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	p := w.Store.Get("t")
	wait := p.Outbox.At.Sub(w.Clock.Now())
	if p.Outbox.Laters != 1 || p.Outbox.Wake != before.Outbox.Wake+1 || wait < 5*time.Second || wait > 6*time.Second || len(p.Outbox.Notices) != 1 {
		t.Errorf("outbox %+v, due in %v", p.Outbox, wait)
	}
	if p.Saves != before.Saves || p.Wake != before.Wake || p.State != before.State {
		t.Errorf("more than the outbox was changed:\n%s", enginetest.Describe(p))
	}
	if !w.Queue.Has(noticeID(p.Outbox.Wake)) {
		t.Error("the message of the new number was not sent")
	}
	if !strings.Contains(w.log.String(), "notices not delivered") || !strings.Contains(w.log.String(), "transaction.id=t") {
		t.Errorf("log:\n%s", w.log)
	}
}

// Ensure the receiver is not asked before it wants to be, and that all whom it
// has told the same do not come back at one instant.
func TestRetryAfterIsHonoured(t *testing.T) {
	waits := map[time.Duration]bool{}
	for seed := range uint64(5) {
		w := newWorld(t, seed)
		w.receiver.OnPost = func(notify.CloudEvent) error {
			return &failure.Error{Kind: failure.Transient, Op: "post", RetryAfter: 20 * time.Minute, Err: errors.New("answered 429")}
		}
		w.deliver()
		if err := w.service.Handle(t.Context(), w.wake()); err != nil {
			t.Fatal(err)
		}
		wait := w.Store.Get("t").Outbox.At.Sub(w.Clock.Now())
		if wait < 20*time.Minute || wait > 21*time.Minute {
			t.Errorf("asked again after %v", wait)
		}
		waits[wait] = true
	}
	if len(waits) < 4 {
		t.Errorf("all come back at once: %v", waits)
	}
}

// Ensure one failed attempt counts once although the answer to its save is lost.
func TestPutOffOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.deliver()
	w.receiver.OnPost = func(notify.CloudEvent) error {
		w.Gate.Decide = once("replace t", workflowtest.Lose)
		return errDown
	}
	wake := w.wake()
	if err := w.service.Handle(t.Context(), wake); err != nil {
		t.Fatal(err)
	}
	if o := w.Store.Get("t").Outbox; o.Laters != 1 || o.Wake != wake.Wake+1 || !w.Queue.Has(noticeID(o.Wake)) {
		t.Errorf("outbox %+v", o)
	}
}

// Ensure a notice is given up when it can't be delivered for too long, with a
// line that names it, and that younger ones are not.
func TestGivesUp(t *testing.T) {
	w := newWorld(t, 1)
	down := true
	w.receiver.OnPost = func(notify.CloudEvent) error {
		if down {
			return errDown
		}
		return nil
	}
	w.deliver()
	w.Clock.Advance(40 * time.Hour)
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	for w.Store.Get("t").Outbox.Count < 2 {
		w.Step()
	}
	w.Clock.Advance(40 * time.Hour)
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if left := w.Store.Get("t").Outbox; len(left.Notices) != 1 || left.Notices[0].Number != 2 || left.Laters == 0 {
		t.Errorf("outbox %+v, want the second notice to wait on", left)
	}
	if log := w.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "event=t/1") {
		t.Errorf("log:\n%s", log)
	}
	down = false
	w.Settle()
	if news := w.receiver.news("t"); !slices.Equal(news, []string{"2 Completed"}) {
		t.Errorf("told %v", news)
	}
}

// Ensure one that is too old is tried once more before it is given up, and that
// nothing is left of it then.
func TestTheLastAttempt(t *testing.T) {
	for down, want := range map[bool]int{true: 0, false: 1} {
		w := newWorld(t, 1)
		w.deliver()
		w.Clock.Advance(100 * time.Hour)
		w.receiver.OnPost = func(notify.CloudEvent) error {
			if down {
				return errDown
			}
			return nil
		}
		if err := w.service.Handle(t.Context(), w.wake()); err != nil {
			t.Fatal(err)
		}
		if p := w.Store.Get("t"); len(w.receiver.all()) != want || len(p.Outbox.Notices) != 0 || !p.Outbox.At.IsZero() || p.Outbox.Laters != 0 {
			t.Errorf("receiver down: %t: %d posts, outbox %+v", down, len(w.receiver.all()), p.Outbox)
		}
	}
}
