package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// load sends what is planned, as many clients would, and notes what they are
// told.
type load struct {
	client *workload.Client
	ledger *ledger
	tally  *tally

	mu       sync.Mutex
	outcomes []outcome
	cancels  []cancelled
	// findings are answers that no client should get.
	findings []Finding
}

// outcome is what became of a request.
type outcome struct {
	sending
	transactionID string // "" if it was not accepted
	end           ending
	begun, ended  time.Time // of asking
	repeated      time.Time // when it was sent again and accepted; zero if it wasn't
}

// cancelled is what a client was told of a cancel.
type cancelled struct {
	transactionID string
	operationID   string // "" if it was not accepted
	end           ending
	alone         bool // nobody else asks for the transaction's end
}

// Finding is something that is not as it should be, and of what.
type Finding struct {
	ID   string `json:"id"` // a TransactionID, or what the client called it
	What string `json:"what"`
}

func (l *load) found(id, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.findings = append(l.findings, Finding{id, fmt.Sprintf(format, args...)})
}

// run sends everything at its moment and returns when all is answered for good
// or ctx has ended. When patience ends, clients begin nothing new. The error is
// that of the ledger: without it, nothing can be proved.
func (l *load) run(ctx, patience context.Context, all []sending) error {
	clients, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for _, s := range all {
		if !wait(patience, s.At-time.Since(begun)) || ctx.Err() != nil {
			break
		}
		clients.Go(func() error { return l.carryOut(ctx, patience, s) })
	}
	return clients.Wait()
}

// wait returns true after d, or false if ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// carryOut does all that one client does about one transaction.
func (l *load) carryOut(ctx, patience context.Context, s sending) error {
	var acting errgroup.Group
	begun := time.Now()
	l.act(ctx, patience, &acting, s, beside, s.ID)
	receipt, end, err := l.request(ctx, l.delivering(s))
	o := outcome{sending: s, transactionID: receipt.TransactionID, end: end, begun: begun, ended: time.Now()}
	if err == nil && end == wasAccepted {
		if s.malformed() {
			l.found(receipt.TransactionID, "it is malformed, and was accepted")
		}
		l.act(ctx, patience, &acting, s, accepted, receipt.TransactionID)
		if s.has(completed) && l.untilCompleted(workload.As(patience, s.Caller), receipt.TransactionID) {
			l.act(ctx, patience, &acting, s, completed, receipt.TransactionID)
		}
	}
	if err == nil && end == wasAccepted && s.Again > 0 && wait(patience, s.Again) {
		o.repeated, err = l.again(ctx, s, receipt)
	}
	l.mu.Lock()
	l.outcomes = append(l.outcomes, o)
	l.mu.Unlock()
	return errors.Join(err, acting.Wait())
}

// again sends an accepted request once more, and returns when, if it was accepted again.
func (l *load) again(ctx context.Context, s sending, first workload.Receipt) (time.Time, error) {
	at := time.Now()
	receipt, end, err := l.request(ctx, l.delivering(s))
	if err != nil || end != wasAccepted {
		return time.Time{}, err
	}
	if receipt != first {
		l.found(s.Name, "the same request was accepted as %v and later as %v", first, receipt)
	}
	return at, nil
}

// cancels is how many cancels the client asks for.
func (s *sending) cancels() int {
	n := 0
	for _, a := range s.Acts {
		if a.Kind == workflow.OperationCancel {
			n++
		}
	}
	return n
}

func (s *sending) has(when moment) bool {
	for _, a := range s.Acts {
		if a.When == when {
			return true
		}
	}
	return false
}

// act begins what the client does after the moment that has come now.
func (l *load) act(ctx, patience context.Context, acting *errgroup.Group, s sending, now moment, id string) {
	for _, a := range s.Acts {
		if a.When != now {
			continue
		}
		acting.Go(func() error {
			if !wait(patience, a.After) {
				return nil
			}
			q := l.changing(a, id)
			q.caller = s.Caller
			receipt, end, err := l.request(ctx, q)
			if a.Kind == workflow.OperationCancel {
				l.mu.Lock()
				l.cancels = append(l.cancels, cancelled{id, receipt.OperationID, end, s.cancels() == 1})
				l.mu.Unlock()
			}
			return err
		})
	}
}

// untilCompleted watches the transaction and returns true once it is Completed,
// false if it won't be before ctx ends.
func (l *load) untilCompleted(ctx context.Context, id string) bool {
	for {
		v, err := l.client.Progress(ctx, id)
		switch {
		case err == nil && v.State == string(workflow.Completed):
			return true
		case err != nil && ctx.Err() == nil:
			l.found(id, "it was accepted, and its progress is answered with %v", err)
			return false
		case err == nil && workflow.State(v.State).Final():
			return false
		}
		if !wait(ctx, 200*time.Millisecond+rand.N(200*time.Millisecond)) {
			return false
		}
	}
}
