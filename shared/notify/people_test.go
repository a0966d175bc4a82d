package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/notify/mailtest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// asked is a business in which people ask to be told of a trip's end. What it answers is
// the letter itself.
type asked struct {
	letter business.Letter
	status int // of the answer, if not 200
	calls  int
}

func (a *asked) Do(_ context.Context, at engine.Attempt) workflow.Outcome {
	a.calls++
	if at.Call.Path != "wishes/t" {
		return workflow.Outcome{Retry: workflow.RetryNever, Status: 400, Type: "invalid", Message: at.Call.Path}
	}
	switch a.status {
	case 0:
		body, err := json.Marshal(a.letter)
		if err != nil {
			return workflow.Outcome{Retry: workflow.RetryNever, Status: 500, Message: err.Error()}
		}
		return workflow.Outcome{Status: 200, Result: body}
	case 404:
		return workflow.Outcome{Retry: workflow.RetryNever, Status: 404, Type: "not-found"}
	}
	return workflow.Outcome{Retry: workflow.RetryLater, Status: a.status, Type: "down", Message: "down"}
}

var letters = &business.Letters{
	Ask: func(id string) workflow.Call {
		return workflow.Call{Backend: "wishes", Method: "GET", Path: "wishes/" + id}
	},
	Write: func(answer json.RawMessage) (l business.Letter, err error) {
		err = json.Unmarshal(answer, &l)
		return l, err
	},
}

// withPeople is a world in which people are told by a mail server, too, and ada and bob
// have asked.
func withPeople(t *testing.T, server *mailtest.Server, hook bool) (*world, *asked) {
	t.Helper()
	w := newWorld(t, 1)
	a := &asked{letter: business.Letter{Name: "arrived", To: []string{"ada@example.com", "bob@example.com"}, Subject: "Arrived", Text: "It is here."}}
	mailer, err := notify.NewSMTP(notify.SMTPConfig{URL: "smtp://" + server.Addr, From: "noreply@fabrikam.example", Limits: notify.Limits{
		CallTimeout: 10 * time.Second, Patience: time.Second, Concurrency: 4, Log: slog.New(slog.DiscardHandler),
		Breaker: failure.Breaker{FailureRatio: 1, MinCalls: 1000, Window: time.Minute, Delay: time.Minute, Probes: 3},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := notify.Config{
		Engine: w.Engine, Source: "/test", Types: "com.fabrikam.orders", GiveUpAfter: giveUpAfter, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		People: notify.People{Letters: letters, Backends: a, Mailer: mailer, SendTimeout: 10 * time.Second},
	}
	if hook {
		c.Receiver = w.receiver
	}
	w.service = notify.New(c)
	w.Notify = w.service.Handle
	return w, a
}

// mails returns the recipients of the mail that a server took.
func mails(s *mailtest.Server) []string {
	var to []string
	for _, m := range s.Taken() {
		to = append(to, m.To...)
	}
	return to
}

// Ensure people get their letter when it is due, once, and that the receiver is told at
// once, with one message and few writes in between.
func TestPeopleAreToldWhenItIsDue(t *testing.T) {
	for _, hook := range []bool{true, false} {
		t.Run(fmt.Sprintf("receiver %t", hook), func(t *testing.T) {
			server := mailtest.Start(t, &mailtest.Server{})
			w, a := withPeople(t, server, hook)
			a.letter.Due = w.Clock.Now().Add(48 * time.Hour)
			w.deliver()
			if err := w.service.Handle(t.Context(), w.wake()); err != nil {
				t.Fatal(err)
			}
			p := w.Store.Get("t")
			if len(mails(server)) != 0 || !p.Outbox.At.Equal(a.letter.Due) || len(p.Outbox.Notices) != 1 || p.Outbox.Notices[0].Posted != hook || !w.Queue.Has(noticeID(p.Outbox.Wake)) {
				t.Errorf("before it is due: %v, outbox %+v", mails(server), p.Outbox)
			}
			if heard := w.receiver.news("t"); (len(heard) == 1) != hook {
				t.Errorf("the receiver heard %v", heard)
			}
			w.Settle()
			if got := mails(server); !slices.Equal(got, []string{"ada@example.com", "bob@example.com"}) {
				t.Errorf("mail to %v\n%s", got, w.log)
			}
			for i, m := range server.Taken() {
				if id := fmt.Sprintf("Message-ID: <t/arrived/%d@fabrikam.example>", i+1); !strings.Contains(m.Raw, id) {
					t.Errorf("%q has not %s", m.Raw, id)
				}
			}
			if a.calls > 3 {
				t.Errorf("the business was asked %d times", a.calls)
			}
			if hook {
				w.check()
			}
			if o := w.Store.Get("t").Outbox; len(o.Notices) != 0 || !o.At.IsZero() {
				t.Errorf("outbox %+v", o)
			}
		})
	}
}

// Ensure a mail server that is away costs nobody but the people: the workflow and the
// receiver go on, the people get their mail when it is back, and nobody gets it twice
// who was told before.
func TestMailServerAwayAndBack(t *testing.T) {
	var away atomic.Bool
	server := &mailtest.Server{Answer: func(to string) error {
		if to == "bob@example.com" && away.Load() {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}}
		}
		return nil
	}}
	mailtest.Start(t, server)
	w, _ := withPeople(t, server, true)
	server.Stop()
	w.deliver()
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	p := w.Store.Get("t")
	if p.State != workflow.Completed || len(w.receiver.news("t")) != 1 || p.Outbox.Laters != 1 || !w.Clock.Now().Before(p.Outbox.At.Time) {
		t.Errorf("while the server is away: %s, heard %v, outbox %+v", p.State, w.receiver.news("t"), p.Outbox)
	}
	away.Store(true)
	mailtest.Start(t, server)
	w.Clock.Advance(time.Minute)
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if o := w.Store.Get("t").Outbox; !slices.Equal(mails(server), []string{"ada@example.com"}) || o.Sent != 1 || o.Laters != 2 {
		t.Errorf("with the server half back: %v, outbox %+v", mails(server), o)
	}
	away.Store(false)
	w.Settle()
	if got := mails(server); !slices.Equal(got, []string{"ada@example.com", "bob@example.com"}) {
		t.Errorf("mail to %v", got)
	}
	w.check()
}

// Ensure the receiver being down does not keep the people waiting, and they are not told
// again when it is back.
func TestReceiverDownPeopleTold(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{})
	w, _ := withPeople(t, server, true)
	start := w.Clock.Now()
	w.receiver.OnPost = func(notify.CloudEvent) error {
		if w.Clock.Now().Sub(start) < time.Hour {
			return errDown
		}
		return nil
	}
	w.deliver()
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if got := mails(server); len(got) != 2 {
		t.Errorf("mail to %v while the receiver is down", got)
	}
	w.Settle()
	w.check()
	if got := mails(server); len(got) != 2 {
		t.Errorf("mail to %v", got)
	}
}

// Ensure an address that is refused for good is told in an error line, without the
// address, and that the next one gets its mail.
func TestRefusedAddress(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{Answer: func(to string) error {
		if to == "ada@example.com" {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such " + to}
		}
		return nil
	}})
	w, _ := withPeople(t, server, true)
	w.deliver()
	w.Settle()
	w.check()
	if got := mails(server); !slices.Equal(got, []string{"bob@example.com"}) {
		t.Errorf("mail to %v", got)
	}
	if log := w.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "mail refused") || !strings.Contains(log, "mail=t/arrived/1") || strings.Contains(log, "ada@") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure a new rest brings a new letter only if it is of another kind, and takes the
// place of one that is not due.
func TestLettersOfSeveralRests(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{})
	w, a := withPeople(t, server, true)
	w.deliver()
	w.Settle()
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Settle()
	if got := mails(server); len(got) != 2 {
		t.Errorf("after a second rest with the same letter: mail to %v", got)
	}
	a.letter.To = append(a.letter.To, "eve@example.com")
	w.Post(workflow.OperationReschedule, "t", "op-3", []byte(`{"nights":6}`))
	w.Settle()
	if got := mails(server); len(got) != 3 || got[2] != "eve@example.com" {
		t.Errorf("one more has asked: mail to %v", got)
	}
	a.letter.Due = w.Clock.Now().Add(time.Hour)
	w.Post(workflow.OperationReschedule, "t", "op-4", []byte(`{"nights":7}`))
	for w.Step() {
		continue
	}
	if n := w.Store.Get("t").Outbox.Latest(); n == nil || n.Due.IsZero() {
		t.Fatalf("latest notice %+v, want one that waits", n)
	}
	a.letter.Name, a.letter.Due = "cancelled", time.Time{}
	w.Post(workflow.OperationCancel, "t", "op-5", nil)
	w.Settle()
	w.check()
	if got := mails(server); len(got) != 6 {
		t.Errorf("after the cancel: mail to %v", got)
	}
}

// Ensure nobody is told where nobody could ask, and that a business which can't be asked
// is asked again.
func TestWhoAsked(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{})
	w, a := withPeople(t, server, true)
	a.status = 503
	w.deliver()
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Fatal(err)
	}
	if o := w.Store.Get("t").Outbox; o.Laters != 1 || len(o.Notices) != 1 {
		t.Errorf("the business is down: outbox %+v", o)
	}
	a.status = 404
	w.Settle()
	w.check()
	if got := mails(server); len(got) != 0 {
		t.Errorf("mail to %v", got)
	}
}

// Ensure mail that can't be delivered is given up with an error line, and that its age
// counts from when it was due.
func TestMailIsGivenUp(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{To: &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}}})
	w, a := withPeople(t, server, true)
	a.letter.Due = w.Clock.Now().Add(200 * time.Hour)
	w.deliver()
	for i, c := range []struct {
		wait time.Duration
		left int
	}{{0, 1}, {201 * time.Hour, 1}, {72 * time.Hour, 0}} {
		w.Clock.Advance(c.wait)
		if err := w.service.Handle(t.Context(), w.wake()); err != nil {
			t.Fatal(err)
		}
		if o := w.Store.Get("t").Outbox; len(o.Notices) != c.left || o.At.IsZero() != (c.left == 0) {
			t.Errorf("%d: outbox %+v", i, o)
		}
	}
	if log := w.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "notice given up") {
		t.Errorf("log:\n%s", log)
	}
}

// Ensure a crash between a mail and its save repeats the mail at most, with the same id.
func TestCrashRepeatsAMail(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{})
	w, _ := withPeople(t, server, false)
	w.deliver()
	w.Gate.Decide = once("replace t", workflowtest.Refuse)
	if err := w.service.Handle(t.Context(), w.wake()); err != nil {
		t.Log(err) // the message comes again
	}
	w.Settle()
	ids := map[string]int{}
	for _, m := range server.Taken() {
		_, rest, _ := strings.Cut(m.Raw, "Message-ID: ")
		id, _, _ := strings.Cut(rest, "\r\n")
		ids[id]++
	}
	if len(ids) != 2 {
		t.Errorf("mails %v", ids)
	}
}
