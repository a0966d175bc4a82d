// Package notify tells a receiver that a transaction has come to rest, in a
// final state or Stuck. The save that ends a transaction puts a notice into the
// outbox of its document; a message of the queue notifications asks for
// delivery. So a notice is sent at least once, the notices of one transaction
// go out in order, and the workflow never waits: if the message is lost, Sweep
// finds the overdue outbox.
//
// Reading order: notify.go (one message), outbox.go (what is written), event.go
// (what is sent), webhook.go with gate.go (the receiver behind an HTTP endpoint),
// signature.go; people.go (letters to people), smtp.go.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Receiver is who is told. It is safe for concurrent use.
type Receiver interface {
	// Post sends an event once and returns nil when the receiver has taken it.
	// After an error it may have taken it all the same; failure.RetryAfter tells
	// when it may be asked again. Post may wait for its turn, as long as ctx
	// leaves time for a call behind it.
	Post(ctx context.Context, e CloudEvent) error
}

// Config is what a Service works with. All fields are required, but Receiver and
// People.
type Config struct {
	// Without Receiver and People.Mailer nobody is told, and messages are finished
	// with as they come.
	Receiver Receiver
	People   People
	// Engine has the transactions, the budgets and the clock. No call starts that
	// could end after the time of an invocation.
	Engine *engine.Engine
	Source string // of the events, a URI reference
	Types  string // what the events' types begin with, such as "com.fabrikam.dronedelivery"
	// GiveUpAfter is how old a notice that can't be delivered may become.
	GiveUpAfter time.Duration
	Log         *slog.Logger
}

// Service is the Notify function's work. It is safe for concurrent use and keeps
// nothing between messages.
type Service struct{ c Config }

// New returns the service.
func New(c Config) *Service { return &Service{c} }

// Handle delivers the notices that wait in a transaction's outbox. Nil means
// that the message is finished with: nothing waits, or another message will come
// for what does. engine.ErrUnreadable, for an operation, means that it belongs
// into the quarantine; any other error that it must come again.
func (s *Service) Handle(ctx context.Context, e engine.Envelope) error {
	if e.Operation != "" {
		return fmt.Errorf("%w: operation %s of transaction %s in the notifications queue", engine.ErrUnreadable, e.OperationID, e.TransactionID)
	}
	if s.c.Receiver == nil && s.c.People.Mailer == nil {
		return nil
	}
	budgets := s.c.Engine.Budgets
	ctx, cancel := context.WithTimeout(ctx, budgets.InvocationTimeout)
	defer cancel()
	last := s.c.Engine.Now().Add(budgets.InvocationTimeout - budgets.CallTimeout) // for a call to start
	d, err := s.open(ctx, e.TransactionID)
	switch {
	case failure.Is(err, failure.NotFound):
		s.c.Log.WarnContext(ctx, "notices expired with their transaction", telemetry.KeyTransaction, e.TransactionID)
		return nil
	case err != nil:
		return err
	case d.empty():
		return nil
	case e.Wake != d.p.Outbox.Wake && s.c.Engine.Now().Before(d.p.Outbox.At.Time):
		// An old message, and the outbox was put off: the latest wake's message
		// is the one. It may be that it was never sent.
		return s.c.Engine.Announce(ctx, d.p)
	}
	var cause error
	for n := s.unposted(d); n != nil && cause == nil; n = s.unposted(d) {
		if s.c.Engine.Now().After(last) {
			return s.goOn(ctx, d)
		}
		if cause = s.post(ctx, d.p.ID, *n); cause != nil {
			break
		}
		if err := s.taken(ctx, d, *n); err != nil {
			return err
		}
	}
	if s.c.People.Mailer != nil && !d.empty() {
		due, failed, err := s.tell(ctx, d)
		switch {
		case err != nil:
			return err
		case failed == nil && cause == nil && !d.empty():
			return s.hold(ctx, d, due)
		}
		cause = errors.Join(cause, failed)
	}
	if cause != nil {
		return s.putOff(ctx, d, cause)
	}
	return nil
}

// unposted returns the first notice that the receiver has not taken, nil if there
// is none.
func (s *Service) unposted(d *document) *workflow.Notice {
	i := slices.IndexFunc(d.p.Outbox.Notices, func(n workflow.Notice) bool { return !n.Posted })
	if s.c.Receiver == nil || i < 0 {
		return nil
	}
	return &d.p.Outbox.Notices[i]
}

// post sends one notice, in a span that the notice names.
func (s *Service) post(ctx context.Context, id string, n workflow.Notice) (err error) {
	ctx, span := telemetry.Start(ctx, http.MethodPost, trace.WithSpanKind(trace.SpanKindClient))
	defer func() {
		telemetry.Fail(span, telemetry.ErrorType(err))
		span.End()
	}()
	e, err := s.c.newEvent(id, n, telemetry.TraceParent(ctx))
	if err != nil {
		return err
	}
	if err := s.c.Receiver.Post(ctx, e); err != nil {
		return err
	}
	s.c.Log.DebugContext(ctx, "notice taken", telemetry.KeyTransaction, id, telemetry.KeyState, n.State, "event", e.ID)
	return nil
}

// taken takes a delivered notice out of the outbox. The latest stays for the people.
func (s *Service) taken(ctx context.Context, d *document, n workflow.Notice) error {
	_, err := s.change(ctx, d, func(p *workflow.Progress) {
		if latest := p.Outbox.Latest(); s.c.People.Mailer == nil || latest == nil || latest.Number != n.Number {
			p.Notified(n.Number)
			return
		}
		p.Notified(n.Number - 1)
		p.Outbox.Latest().Posted = true
	})
	return err
}

// goOn leaves what is left to another message, at once: the time is up.
func (s *Service) goOn(ctx context.Context, d *document) error {
	changed, err := s.change(ctx, d, func(p *workflow.Progress) { p.RaiseNotice(s.c.Engine.Now()) })
	if !changed {
		return err
	}
	return s.c.Engine.Announce(ctx, d.p)
}

// putOff leaves what is left to a later message, since the receiver did not take
// the first of it. What is too old by then is given up.
func (s *Service) putOff(ctx context.Context, d *document, cause error) error {
	jitter := s.c.Engine.Jitter()
	var given []workflow.Notice
	changed, err := s.change(ctx, d, func(p *workflow.Progress) {
		now := s.c.Engine.Now()
		laters := p.Outbox.Laters + 1
		if given = tooOld(p.Outbox.Notices, now.Add(-s.c.GiveUpAfter)); len(given) > 0 {
			p.Notified(given[len(given)-1].Number)
		}
		if len(p.Outbox.Notices) > 0 {
			p.Outbox.Laters = laters
			p.RaiseNotice(now.Add(s.delay(laters, jitter, failure.RetryAfter(cause))))
		}
	})
	if err != nil {
		return errors.Join(err, cause)
	}
	if !changed { // another message has delivered it all
		return nil
	}
	s.c.Log.WarnContext(ctx, "notices not delivered", telemetry.KeyTransaction, d.p.ID, telemetry.KeyAttempt, d.p.Outbox.Laters,
		"next", d.p.Outbox.At, telemetry.KeyError, cause)
	for _, n := range given {
		s.c.Log.ErrorContext(ctx, "notice given up", telemetry.KeyTransaction, d.p.ID, "event", eventID(d.p.ID, n),
			telemetry.KeyState, n.State, "at", n.At, telemetry.KeyError, cause)
	}
	if d.empty() {
		return nil
	}
	return s.c.Engine.Announce(ctx, d.p)
}

// tooOld returns the first of the notices that are from before the given time.
func tooOld(notices []workflow.Notice, before time.Time) []workflow.Notice {
	for i, n := range notices {
		if !n.At.Before(before) || !n.Due.Before(before) && !n.Due.IsZero() {
			return notices[:i]
		}
	}
	return notices
}

// delay is the time to the nth attempt in a row, and not before the receiver
// wants one. All that wait for the same are told the same, so a part of the
// delay is added there: they do not come back at one instant.
func (s *Service) delay(n int, jitter float64, retryAfter time.Duration) time.Duration {
	delay := s.c.Engine.Budgets.Backoff(jitter).Delay(n)
	if retryAfter > 0 {
		asked := min(retryAfter, workflow.MaxRetryAfter) + time.Duration(jitter*float64(delay)/2)
		return max(delay, asked)
	}
	return delay
}
