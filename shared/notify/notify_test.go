package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var errDown = failure.New(failure.Transient, "post", "", errors.New("the receiver is down"))

// Ensure that nobody is told unless it is asked for, and that nothing tells of
// it.
func TestOffLeavesNoTrace(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	if p := w.Store.Get("t"); p.Outbox.Count != 0 || p.Outbox.Wake != 0 || len(p.Outbox.Notices) != 0 {
		t.Errorf("outbox %+v", p.Outbox)
	}
	for _, effect := range w.Gate.Effects() {
		if strings.Contains(effect, "notifications") {
			t.Errorf("effect %s", effect)
		}
	}
	effects := len(w.Gate.Effects())
	off := notify.New(notify.Config{})
	if err := off.Handle(t.Context(), engine.Envelope{TransactionID: "t", Wake: 1}); err != nil {
		t.Errorf("a message for nobody: %v", err)
	}
	if n := len(w.Gate.Effects()); n != effects {
		t.Errorf("a message for nobody has %d effects", n-effects)
	}
}

// Ensure a message of an old number is answered by the current one's when the
// outbox was put off, and that it delivers when something is due.
func TestOldMessage(t *testing.T) {
	w := newWorld(t, 1)
	w.receiver.OnPost = func(notify.CloudEvent) error { return errDown }
	w.deliver()
	old := w.wake()
	if err := w.service.Handle(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.receiver.OnPost = nil
	for range 2 {
		if err := w.service.Handle(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	current := noticeID(w.wake().Wake)
	sent := 0
	for _, effect := range w.Gate.Effects() {
		if strings.HasPrefix(effect, "send "+current) {
			sent++
		}
	}
	if n := len(w.receiver.all()); n != 0 || sent != 3 {
		t.Errorf("%d posts, the current message was sent %d times; want none, and 3", n, sent)
	}
	w.Clock.AdvanceTo(w.Store.Get("t").Outbox.At.Time)
	if err := w.service.Handle(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if n := len(w.receiver.all()); n != 1 {
		t.Errorf("%d posts for an old message when the notice is due, want 1", n)
	}
	w.Settle()
	w.check()
}

// Ensure the message of the current number delivers although its clock and ours
// differ a little.
func TestCurrentMessageComesEarly(t *testing.T) {
	w := newWorld(t, 1)
	w.receiver.OnPost = func(notify.CloudEvent) error { return errDown }
	w.deliver()
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	w.receiver.OnPost = nil
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.receiver.all()); n != 1 {
		t.Errorf("%d posts, want 1", n)
	}
}

// Ensure nothing is written for a notice that another message has delivered
// meanwhile, and that the next one is not held back by it.
func TestAnotherMessageIsQuicker(t *testing.T) {
	w := newWorld(t, 1)
	w.deliver()
	if err := w.Store.Change("t", func(p *workflow.Progress) {
		second := p.Outbox.Notices[0]
		second.Number = 2
		p.Outbox.Notices, p.Outbox.Count = append(p.Outbox.Notices, second), 2
	}); err != nil {
		t.Fatal(err)
	}
	w.receiver.OnPost = func(e notify.CloudEvent) error {
		if e.ID != "t/1" {
			return nil
		}
		return w.Store.Change("t", func(p *workflow.Progress) { p.Notified(1) })
	}
	writes, before := w.Store.Writes(), len(w.Gate.Effects())
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if n := w.Store.Writes() - writes; n != 2 { // the other's, and that of the second notice
		t.Errorf("%d writes: %v", n, w.Gate.Effects()[before:])
	}
	if news := w.receiver.news("t"); !slices.Equal(news, []string{"1 Completed", "2 Completed"}) {
		t.Errorf("told %v", news)
	}
}

// Ensure a delivered notice is recorded whatever happens to the document at the
// same time, and is not sent again for it.
func TestRecordedAgainstOthers(t *testing.T) {
	for name, disturb := range map[string]func(w *world){
		"others change the document": func(w *world) {
			n := 0
			w.Store.BeforeReplace = func(id string) {
				if n++; n <= 3 {
					if err := w.Store.Change(id, func(p *workflow.Progress) { p.DeadLetters++ }); err != nil {
						t.Error(err)
					}
				}
			}
		},
		"the answer is lost": func(w *world) { w.Gate.Decide = once("replace t", workflowtest.Lose) },
		"the write fails":    func(w *world) { w.Gate.Decide = once("replace t", workflowtest.Refuse) },
		"so does the read behind it": func(w *world) {
			write, read := once("replace t", workflowtest.Lose), once("read t", workflowtest.Refuse)
			w.Gate.Decide = func(effect string, n int) workflowtest.Fate { return max(write(effect, n), read(effect, n)) }
		},
		"another was quicker": func(w *world) {
			first := true
			w.Store.BeforeReplace = func(id string) {
				if first {
					first = false
					if err := w.Store.Change(id, func(p *workflow.Progress) { p.Notified(1) }); err != nil {
						t.Error(err)
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.deliver()
			saves, wake := w.Store.Get("t").Saves, w.wake()
			w.receiver.OnPost = func(notify.CloudEvent) error { disturb(w); return nil }
			if err := w.service.Handle(t.Context(), wake); err != nil {
				t.Fatal(err)
			}
			w.Gate.Decide, w.Store.BeforeReplace = nil, nil
			p := w.Store.Get("t")
			if p.Saves != saves || len(p.Outbox.Notices) != 0 || len(w.receiver.all()) != 1 {
				t.Errorf("%d posts:\n%s", len(w.receiver.all()), enginetest.Describe(p))
			}
			w.Settle()
			w.check()
		})
	}
}

// once returns a decision that gives the next effect of that name its fate.
func once(name string, fate workflowtest.Fate) func(string, int) workflowtest.Fate {
	done := false
	return func(effect string, _ int) workflowtest.Fate {
		if effect != name || done {
			return workflowtest.Pass
		}
		done = true
		return fate
	}
}

// Ensure a runner whose transaction's notices are delivered while it works keeps
// its lease and its results.
func TestDeliveredBesideARunner(t *testing.T) {
	w := newWorld(t, 1)
	w.deliver()
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	told := false
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if !told && req.Call.Backend == "payment" { // alone in its stage
			told = true
			if err := w.service.Handle(t.Context(), w.wake()); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	calls := len(w.Backends.Calls())
	w.Settle()
	w.check()
	if !told {
		t.Error("no runner was at work")
	}
	if n := len(w.Backends.Calls()) - calls; n != 2 { // hotel and payment
		t.Errorf("%d calls, want 2: %v", n, w.Backends.Calls()[calls:])
	}
}

// Ensure a message does not work for longer than an invocation may take, and
// leaves the rest to another one at once.
func TestTimeIsUp(t *testing.T) {
	w := newWorld(t, 1)
	w.deliver()
	const notices = 10
	if err := w.Store.Change("t", func(p *workflow.Progress) {
		for n := 2; n <= notices; n++ {
			more := p.Outbox.Notices[0]
			more.Number = n
			p.Outbox.Notices = append(p.Outbox.Notices, more)
		}
		p.Outbox.Count = notices
	}); err != nil {
		t.Fatal(err)
	}
	w.receiver.OnPost = func(notify.CloudEvent) error { w.Clock.Advance(10 * time.Second); return nil }
	wake := w.wake()
	if err := w.service.Handle(t.Context(), wake); err != nil {
		t.Fatal(err)
	}
	p := w.Store.Get("t")
	if n := len(w.receiver.all()); n != 5 || len(p.Outbox.Notices) != notices-5 {
		t.Errorf("%d posts of 10 s each within 45 s, want 5; outbox %+v", n, p.Outbox)
	}
	if p.Outbox.Laters != 0 || p.Outbox.At.After(w.Clock.Now()) || !w.Queue.Has(noticeID(wake.Wake+1)) {
		t.Errorf("the rest does not go on at once: %+v", p.Outbox)
	}
	w.Settle()
	var numbers []string
	for _, h := range w.receiver.all() {
		numbers = append(numbers, h.ID)
	}
	for i := range notices {
		if want := fmt.Sprint("t/", i+1); i >= len(numbers) || numbers[i] != want {
			t.Errorf("posts %v, want all in their order", numbers)
			break
		}
	}
}

func TestMessagesThatNeedNothing(t *testing.T) {
	w := newWorld(t, 1)
	if err := w.service.Handle(t.Context(), engine.Envelope{TransactionID: "gone", Wake: 1}); err != nil {
		t.Errorf("a transaction that is gone: %v", err)
	}
	w.deliver()
	wake := w.wake()
	for range 2 {
		if err := w.service.Handle(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.receiver.all()); n != 1 {
		t.Errorf("%d posts for a message that comes twice, want 1", n)
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	w := newWorld(t, 1)
	w.deliver()
	writes := w.Store.Writes()
	e := w.Operation(workflow.OperationCancel, "t", "op-2", nil)
	if err := w.service.Handle(t.Context(), e); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("an operation: %v, want what sends it to the quarantine", err)
	}
	if err := w.Store.Change("t", func(p *workflow.Progress) { p.Schema = workflow.Schema + 1 }); err != nil {
		t.Fatal(err)
	}
	if err := w.service.Handle(t.Context(), w.wake()); err == nil || errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("a document of a newer version: %v, want a repeat", err)
	}
	if n := w.Store.Writes() - writes - 1; n != 0 || len(w.receiver.all()) != 0 {
		t.Errorf("%d writes, %d posts", n, len(w.receiver.all()))
	}
}

// Ensure a failure of the store or the queue makes the message come again, and
// that what was put off before is not lost.
func TestFailuresOfStoreAndQueue(t *testing.T) {
	for _, effect := range []string{"read t", "replace t", "send " + noticeID(2)} {
		t.Run(effect, func(t *testing.T) {
			w := newWorld(t, 1)
			w.deliver()
			w.receiver.OnPost = func(notify.CloudEvent) error { return errDown }
			wake := w.wake()
			w.Gate.Decide = func(name string, _ int) workflowtest.Fate {
				if name == effect {
					return workflowtest.Refuse
				}
				return workflowtest.Pass
			}
			if err := w.service.Handle(t.Context(), wake); err == nil {
				t.Error("the message is answered with success")
			}
			w.Gate.Decide, w.receiver.OnPost = nil, nil
			w.Settle()
			w.check()
		})
	}
}
