package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ending is how a request ended for its client.
type ending string

// The endings.
const (
	wasAccepted   ending = "accepted"
	wasRefused    ending = "refused"    // for good
	wasUnanswered ending = "unanswered" // it may have been taken
	wasGivenUp    ending = "given up"   // it may have been taken
)

// question is a request that a client repeats until it is answered for good.
type question struct {
	name     string
	caller   string
	kind     workflow.OperationKind
	body     json.RawMessage
	twice    bool
	ask      func(context.Context) (workload.Receipt, error)
	expected func(status int) bool // whether that is a refusal to reckon with
}

// delivering is the question that asks for a delivery.
func (l *load) delivering(s sending) question {
	return question{
		name: s.Name, caller: s.Caller, kind: workflow.OperationStart, twice: s.Twice, body: s.Body,
		ask: func(ctx context.Context) (workload.Receipt, error) {
			if s.Leaves > 0 {
				return l.submitAndLeave(ctx, s)
			}
			return l.client.Submit(ctx, s.Item)
		},
		expected: func(status int) bool {
			return s.malformed() && status == http.StatusBadRequest
		},
	}
}

// submitAndLeave sends a request as a client does that goes away in the middle of it.
func (l *load) submitAndLeave(ctx context.Context, s sending) (workload.Receipt, error) {
	staying, leave := context.WithTimeout(ctx, s.Leaves)
	defer leave()
	r, err := l.client.Submit(staying, s.Item)
	if err != nil && ctx.Err() == nil && staying.Err() != nil {
		err = fmt.Errorf("%w, the client has left: %w", workload.ErrUnanswered, err)
	}
	return r, err
}

// changing is the question that asks for a change or a cancel.
func (l *load) changing(a act, id string) question {
	q := question{
		name: id, kind: a.Kind, twice: a.Twice,
		ask: func(ctx context.Context) (workload.Receipt, error) { return l.client.Cancel(ctx, id, a.Key) },
		// It may be past it, and a request that is just being sent may not be
		// known yet.
		expected: func(status int) bool {
			return status == http.StatusConflict || a.When == beside && status == http.StatusNotFound
		},
	}
	if a.Stranger != "" {
		id = a.Stranger
		q.name, q.expected = id, func(status int) bool { return status == http.StatusNotFound }
	}
	if a.Once {
		q.ask = func(ctx context.Context) (workload.Receipt, error) { return l.client.CancelOnce(ctx, id) }
	}
	if a.Kind == workflow.OperationReschedule {
		q.ask = func(ctx context.Context) (workload.Receipt, error) {
			return l.client.Reschedule(ctx, id, a.Key, a.Change)
		}
		q.body = a.Change
	}
	return q
}

// request asks, once or twice at the same time, and notes the answers in the
// ledger before they count.
func (l *load) request(ctx context.Context, q question) (workload.Receipt, ending, error) {
	if !q.twice {
		return l.once(ctx, q)
	}
	var second workload.Receipt
	var again ending
	var both errgroup.Group
	both.Go(func() (err error) {
		second, again, err = l.once(ctx, q)
		return err
	})
	first, end, err := l.once(ctx, q)
	err = errors.Join(err, both.Wait())
	switch {
	case end == wasAccepted && again == wasAccepted && first != second:
		l.found(q.name, "the same %s was accepted as %v and as %v", q.kind, first, second)
	case end != wasAccepted && again == wasAccepted:
		return second, again, err
	}
	return first, end, err
}

func (l *load) once(ctx context.Context, q question) (workload.Receipt, ending, error) {
	begun := time.Now()
	r, err := q.ask(workload.As(ctx, q.caller))
	end := l.judge(ctx, q, err)
	if end == wasAccepted {
		if err := l.ledger.add(invariant.LedgerEntry{
			TransactionID: r.TransactionID, OperationID: r.OperationID, Kind: q.kind, Body: q.body, Caller: q.caller, AcceptedAt: time.Now(),
		}); err != nil {
			return r, end, err
		}
	}
	l.tally.request(end, time.Since(begun))
	return r, end, nil
}

// judge tells how a request ended, and finds fault with a refusal for which
// there is no reason.
func (l *load) judge(ctx context.Context, q question, err error) ending {
	status := workload.Status(err)
	switch {
	case err == nil:
		return wasAccepted
	case errors.Is(err, workload.ErrUnanswered):
		return wasUnanswered
	case ctx.Err() != nil:
		return wasGivenUp
	case !q.expected(status):
		l.found(q.name, "its %s was refused: %v", q.kind, err)
	}
	return wasRefused
}
