package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// settling follows what the ledger tells of, until all of it has ended.
type settling struct {
	client *workload.Client
	// stuckFor reports whether a transaction may be Stuck, and does not end
	// then.
	stuckFor func(transactionID string) bool
}

const (
	settleParallel = 4
	// The pause between two looks is as long as the last one took, within these
	// bounds: what is watched needs the machine, too.
	settlePause  = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// errNotSettled is returned when something has not ended in time.
var errNotSettled = errors.New("not everything has ended")

// wait returns when all transactions of the entries are final, with all their
// operations, or with errNotSettled when ctx ends. shown is told how many are
// open.
func (s *settling) wait(ctx context.Context, entries []invariant.LedgerEntry, shown func(open int)) error {
	open, callers := map[string][]string{}, callersOf(entries) // operations by transaction
	for _, e := range entries {
		open[e.TransactionID] = append(open[e.TransactionID], e.OperationID)
	}
	for {
		begun := time.Now()
		err := s.look(ctx, open, callers)
		shown(len(open))
		switch {
		case err == nil && len(open) == 0:
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		}
		if !wait(ctx, min(max(settlePause, time.Since(begun)), longestPause)) {
			return fmt.Errorf("%w: %d transactions are open", errNotSettled, len(open))
		}
	}
}

// look reads all open transactions and takes those out that have ended.
func (s *settling) look(ctx context.Context, open map[string][]string, callers map[string]string) error {
	var mu sync.Mutex
	var ended []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(settleParallel)
	for id, operations := range open {
		group.Go(func() error {
			ctx := workload.As(ctx, callers[id])
			v, err := s.client.Progress(ctx, id)
			if workload.Status(err) == http.StatusNotFound {
				return nil // it was accepted, and is lost, or not there yet
			}
			if err != nil {
				return fmt.Errorf("look at transaction %s: %w", id, err)
			}
			over := workflow.State(v.State) == workflow.Stuck && s.stuckFor(id)
			if !over {
				if over, err = s.ended(ctx, v, operations); err != nil {
					return fmt.Errorf("look at transaction %s: %w", id, err)
				}
			}
			if over {
				mu.Lock()
				ended = append(ended, id)
				mu.Unlock()
			}
			return nil
		})
	}
	err := group.Wait()
	for _, id := range ended {
		delete(open, id)
	}
	return err
}

// ended reports whether a transaction has ended with all its operations, those
// included that it has no room for: they are read one by one.
func (s *settling) ended(ctx context.Context, v workload.View, operations []string) (bool, error) {
	if !v.Ended() {
		return false, nil
	}
	inside := map[string]bool{}
	for _, o := range v.Operations {
		inside[o.ID] = true
	}
	for _, id := range operations {
		if inside[id] {
			continue
		}
		o, err := s.client.Operation(ctx, v.ID, id)
		if workload.Status(err) == http.StatusNotFound {
			return false, nil // lost, or not there yet
		}
		if err != nil {
			return false, err
		}
		if o.State == string(workflow.OperationPending) {
			return false, nil
		}
	}
	return true, nil
}

// atRest reports whether nothing in a snapshot is on its way: what no client
// knows of has ended, too, and what is to be set aside was. What is broken in a
// system at rest stays so.
func atRest(s invariant.Snapshot) bool {
	for i := range s.Transactions {
		if t := &s.Transactions[i]; !t.Rests() || len(t.Outbox.Notices) > 0 {
			return false
		}
	}
	for _, q := range s.Queues {
		if q.Active > 0 || q.DeadLetters > 0 {
			return false
		}
	}
	return s.PoisonSetAside()
}
