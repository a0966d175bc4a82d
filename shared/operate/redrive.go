package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Redrive asks again for what an entry asked for. An operation that is not on
// record of its transaction is put there, and done with a wake of its own; one
// that is, and a wake, give the transaction a new wake, since the queue would
// drop the message itself as a repeat. Of a transaction that rests, the result
// says so. An entry that was redriven before keeps the record of both acts and
// has one effect.
//
// The act is on record before its effect, and its result after it. Between the
// two the process may die: then the entry is still Kept, and redriving it again
// is harmless. An entry that can't be read, or that was dropped, is refused.
func (s *Service) Redrive(ctx context.Context, source, id string, a Actor) (EntryActed, error) {
	acted, err := s.redrive(ctx, source, id, s.entryAct(quarantine.ActRedrive, a))
	if err != nil {
		return EntryActed{}, fmt.Errorf("redrive quarantine entry %s: %w", id, err)
	}
	return acted, nil
}

const redrivenBefore = "it was redriven before: nothing was done"

func (s *Service) redrive(ctx context.Context, source, id string, act quarantine.Act) (EntryActed, error) {
	var envelope engine.Envelope
	e, err := s.updateEntry(ctx, source, id, func(e *quarantine.Entry) (bool, error) {
		var err error
		switch {
		case e.State == quarantine.Dropped:
			return false, &RefusedError{ID: id, State: string(e.State), Reason: "it was dropped"}
		case e.State == quarantine.Redriven:
			return e.End(act, redrivenBefore, e.State), nil
		}
		if envelope, err = s.envelopeOf(e); err != nil {
			return false, err
		}
		return e.Begin(act), nil
	})
	if err != nil {
		return EntryActed{}, err
	}
	if e.State == quarantine.Redriven {
		s.logEntry(ctx, e, act)
		return entryActed(e, redrivenBefore, true), nil
	}
	result, err := s.ask(ctx, e, envelope)
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		return EntryActed{}, err // the act stays without a result
	}
	e, saved := s.updateEntry(ctx, source, id, func(e *quarantine.Entry) (bool, error) {
		if refused != nil {
			return e.End(act, "refused: "+refused.Reason, e.State), nil
		}
		return e.End(act, result, quarantine.Redriven), nil
	})
	if err := errors.Join(err, saved); err != nil {
		return EntryActed{}, err
	}
	s.logEntry(ctx, e, act)
	return entryActed(e, result, false), nil
}

// envelopeOf reads the message in an entry, if this version can.
func (s *Service) envelopeOf(e *quarantine.Entry) (engine.Envelope, error) {
	refused := func(reason string) error { return &RefusedError{ID: e.ID, State: string(e.State), Reason: reason} }
	body, err := e.Bytes()
	if err != nil {
		return engine.Envelope{}, refused("its body can't be read: " + err.Error())
	}
	envelope, err := engine.DecodeIn(s.c.Engine.Shard, body)
	switch {
	case errors.Is(err, engine.ErrNewerSchema):
		return envelope, refused("a newer version of the app wrote it: " + err.Error())
	case errors.Is(err, engine.ErrOtherShard):
		return envelope, refused(err.Error())
	case err != nil:
		return envelope, refused("it asks for nothing: " + err.Error())
	}
	return envelope, nil
}

// ask asks for what the envelope asks for, and returns what came of it.
func (s *Service) ask(ctx context.Context, e *quarantine.Entry, envelope engine.Envelope) (string, error) {
	if envelope.Operation == "" {
		return s.wake(ctx, e, envelope.TransactionID)
	}
	fresh, err := s.c.Engine.Receive(ctx, envelope)
	switch {
	case errors.Is(err, engine.ErrTooOld), errors.Is(err, engine.ErrUnknownTransaction):
		return "", &RefusedError{ID: e.ID, State: string(e.State), Reason: err.Error()}
	case err != nil:
		return "", fmt.Errorf("receive operation %s of transaction %s: %w", envelope.OperationID, envelope.TransactionID, err)
	case !fresh:
		return s.wake(ctx, e, envelope.TransactionID)
	}
	p, _, err := s.c.Engine.Read(ctx, envelope.TransactionID)
	if err != nil {
		return "", fmt.Errorf("read transaction %s: %w", envelope.TransactionID, err)
	}
	record := p.Operation(envelope.OperationID)
	if record == nil { // the transaction does not take it
		return fmt.Sprintf("operation %s was refused, on record outside of transaction %s: %s",
			envelope.OperationID, p.ID, p.Refuses(*envelope.AsOperation())), nil
	}
	return fmt.Sprintf("operation %s was put on record of transaction %s and is %s; the transaction is %s",
		record.ID, p.ID, record.State, p.State), nil
}

// wake gives a transaction a new wake, unless it rests.
func (s *Service) wake(ctx context.Context, e *quarantine.Entry, id string) (string, error) {
	now, raised := s.now(), 0
	p, err := s.updateTransaction(ctx, id, func(p *workflow.Progress) (bool, error) {
		if p.Rests() || raised > 0 && p.Wake >= raised {
			return false, nil
		}
		p.RaiseWake(wakeAt(p, now))
		raised = p.Wake
		return true, nil
	})
	switch {
	case failure.Is(err, failure.NotFound):
		return "", &RefusedError{ID: e.ID, State: string(e.State), Reason: "nothing is known of transaction " + id}
	case err != nil:
		return "", fmt.Errorf("wake transaction %s: %w", id, err)
	case p.State == workflow.Stuck:
		return fmt.Sprintf("transaction %s is Stuck and waits for an operator: nothing was sent; retry it or give it up", id), nil
	case p.Rests():
		return fmt.Sprintf("transaction %s is %s and rests: nothing was sent", id, p.State), nil
	}
	s.c.Logger.InfoContext(ctx, "transaction woken by a redrive", telemetry.KeyTransaction, id, "wake", p.Wake)
	s.send(ctx, p)
	return fmt.Sprintf("wake %d of transaction %s was sent; the transaction is %s", p.Wake, id, p.State), nil
}

// wakeAt is when a new wake is due: now, or when the lease of whoever works on
// the transaction has run out.
func wakeAt(p *workflow.Progress, now time.Time) time.Time {
	if p.Lease.Live(now) {
		return p.Lease.Until.Add(engine.LeaseMargin)
	}
	return now
}
