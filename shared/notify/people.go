package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// errNoTime is the cause of a mail that was not sent: the invocation ends.
var errNoTime = errors.New("no time is left in this invocation")

// People are those who asked to be told of a transaction. Unlike events, a letter
// says what has become of it until now, so that only the latest notice counts. Without
// Mailer none of them is told; with it all fields are required.
type People struct {
	Letters  *business.Letters
	Backends engine.Backends // where the business knows who asked
	Mailer   Mailer
	// SendTimeout is the longest time that the mailer may take for one mail.
	SendTimeout time.Duration
}

// tell sends the letter that is due to those who don't have it, and takes the notice
// out of the outbox when all have it and the receiver has the notice. Otherwise due
// is when there will be something to tell, the zero time if that is not known, and
// cause why not all have the letter.
func (s *Service) tell(ctx context.Context, d *document) (due time.Time, cause, err error) {
	n, now := *d.p.Outbox.Latest(), s.c.Engine.Now()
	if n.Due.After(now) {
		return n.Due.Time, nil, nil
	}
	letter, cause := s.letter(ctx, d.p.ID)
	if cause != nil || letter.Due.After(now) {
		return letter.Due, cause, nil
	}
	sent := 0
	if letter.Name == d.p.Outbox.Letter {
		sent = d.p.Outbox.Sent
	}
	last := now.Add(s.c.Engine.Budgets.InvocationTimeout - s.c.People.SendTimeout)
	for ; sent < len(letter.To) && cause == nil; sent++ {
		if s.c.Engine.Now().After(last) {
			cause = errNoTime
			break
		}
		if cause = s.send(ctx, d.p.ID, letter, sent); cause != nil {
			break
		}
	}
	_, err = s.change(ctx, d, func(p *workflow.Progress) {
		if letter.Name != "" {
			p.Outbox.Letter, p.Outbox.Sent = letter.Name, sent
		}
		latest := p.Outbox.Latest()
		if cause == nil && latest != nil && latest.Number == n.Number && (latest.Posted || s.c.Receiver == nil) {
			p.Notified(n.Number)
		}
	})
	return time.Time{}, cause, err
}

// letter asks the business who is to be told, and of what.
func (s *Service) letter(ctx context.Context, id string) (business.Letter, error) {
	o := s.c.People.Backends.Do(ctx, engine.Attempt{
		TransactionID: id, Call: s.c.People.Letters.Ask(id), Timeout: s.c.Engine.Budgets.CallTimeout,
	})
	switch {
	case o.Retry == workflow.RetryNone:
		return s.c.People.Letters.Write(o.Result)
	case o.Retry == workflow.RetryNever && o.Status == http.StatusNotFound:
		return business.Letter{}, nil
	}
	return business.Letter{}, &failure.Error{
		Kind: failure.Transient, Op: "ask who is to be told of", ID: id, RetryAfter: o.RetryAfter, Err: fmt.Errorf("%s: %s", o.Type, o.Message),
	}
}

// send sends the letter to one of those who asked for it. Nil means also that it is
// refused for good, which an error line tells, without the address.
func (s *Service) send(ctx context.Context, id string, l business.Letter, to int) error {
	m := Mail{ID: id + "/" + l.Name + "/" + strconv.Itoa(to+1), To: l.To[to], Subject: l.Subject, Text: l.Text}
	err := s.c.People.Mailer.Send(ctx, m)
	switch {
	case failure.Is(err, failure.Permanent):
		s.c.Log.ErrorContext(ctx, "mail refused", telemetry.KeyTransaction, id, "mail", m.ID, telemetry.KeyError, err)
	case err != nil:
		return err
	default:
		s.c.Log.DebugContext(ctx, "mail sent", telemetry.KeyTransaction, id, "mail", m.ID)
	}
	return nil
}

// hold leaves what people will be told to a message of that time. The zero time says
// that a new rest has brought its own.
func (s *Service) hold(ctx context.Context, d *document, due time.Time) error {
	if due.IsZero() {
		return s.c.Engine.Announce(ctx, d.p)
	}
	number := d.p.Outbox.Latest().Number
	changed, err := s.change(ctx, d, func(p *workflow.Progress) {
		if latest := p.Outbox.Latest(); latest.Number == number {
			latest.Due = workflow.At(due)
			p.RaiseNotice(due)
		}
	})
	if !changed {
		return err
	}
	return s.c.Engine.Announce(ctx, d.p)
}
