package operate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// MostCounted is up to how many transactions, or entries, of a kind are counted.
const MostCounted = 1000

// Left is what is still to be done in a shard, as its app has just found it.
type Left struct {
	At    time.Time    `json:"at"` // when it began to look
	Shard shard.Number `json:"shard"`
	// Open are the transactions that are neither final nor Stuck; those with Untold
	// notices wait for the receiver of the news. Of each MostCounted are counted.
	Open   int `json:"open"`
	Stuck  int `json:"stuck"`
	Untold int `json:"untold"`
	// Events are those of the hub behind the positions that Relay has stored.
	Events int64        `json:"events"`
	Queues []QueueCount `json:"queues"`
	// Undecided are the entries of the quarantine that were neither redriven nor
	// dropped; MostCounted are counted.
	Undecided int `json:"undecided"`
	// Says has a sentence for each thing that is left, with what to do about it. Nothing is
	// left if it is empty.
	Says []string `json:"says"`
}

// says tells what is left.
func (l *Left) says() []string {
	out := []string{}
	note := func(n int64, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	note(l.Events, "%d events of the hub are not handed over: wait for Relay", l.Events)
	note(int64(l.Open), "%s transactions are open: wait for their end", counted(l.Open))
	note(int64(l.Stuck), "%s transactions are Stuck: retry them or give them up", counted(l.Stuck))
	for _, q := range l.Queues {
		note(q.Active, "%d messages are in queue %s: wait", q.Active, q.Queue)
		note(q.Scheduled, "%d messages of queue %s come later: wait", q.Scheduled, q.Queue)
		note(q.Dead, "%d dead letters are in queue %s: wait until they are in the quarantine", q.Dead, q.Queue)
	}
	note(int64(l.Untold), "%s transactions have notices that their receiver has not taken: wait for it", counted(l.Untold))
	note(int64(l.Undecided), "%s entries of the quarantine are undecided: redrive or drop them", counted(l.Undecided))
	return out
}

func counted(n int) string {
	if n == MostCounted {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

// Left asks afresh what is left to be done in the shard of this app. What travels is asked for
// first, and what it becomes after that: the hub, the queues, then the transactions
// and what was put aside.
func (s *Service) Left(ctx context.Context) (l Left, err error) {
	l = Left{At: s.now(), Shard: s.c.Engine.Shard.OrFirst()}
	if l.Events, err = s.c.Hub.Behind(ctx); err != nil {
		return l, fmt.Errorf("look what is left in the hub: %w", err)
	}
	if l.Queues, err = s.c.Queues(ctx); err != nil {
		return l, fmt.Errorf("look what is left in the queues: %w", err)
	}
	open := slices.DeleteFunc(slices.Clone(workflow.States), func(state workflow.State) bool { return state.Final() || state == workflow.Stuck })
	g, ctx := errgroup.WithContext(ctx)
	count := func(into *int, page func(continuation string) (int, string, error)) {
		g.Go(func() error {
			for next := ""; ; {
				n, more, err := page(next)
				if err != nil {
					return fmt.Errorf("look what is left in the database: %w", err)
				}
				if *into = min(*into+n, MostCounted); more == "" || *into == MostCounted {
					return nil
				}
				next = more
			}
		})
	}
	in := func(states ...workflow.State) func(string) (int, string, error) {
		return func(next string) (int, string, error) {
			page, more, err := s.c.Listing.Find(ctx, Where{States: states}, next)
			return len(page), more, err
		}
	}
	count(&l.Open, in(open...))
	count(&l.Stuck, in(workflow.Stuck))
	count(&l.Untold, func(next string) (int, string, error) {
		ids, more, err := s.c.Engine.Store.OverdueNotices(ctx, workflow.At(lateEnough), next)
		return len(ids), more, err
	})
	count(&l.Undecided, func(next string) (int, string, error) {
		page, more, err := s.c.Quarantine.Page(ctx, quarantine.Filter{State: quarantine.Kept, WithoutBodies: true}, next)
		return len(page), more, err
	})
	err = g.Wait()
	l.Says = l.says()
	return l, err
}

// lateEnough is after every time at which a notice is due.
var lateEnough = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *Service) showLeft(r *http.Request) (Left, error) { return s.Left(r.Context()) }
