package drill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/operate/operatetest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var place = Place{Backend: "hotel", Functions: []string{"Hotels"}, Database: "second"}

// world is a system that obeys the faults, with the status, the reports and Sweep's survey
// of the product. Its transactions are one call each, which is repeated every minute until
// it is answered. Status is asked of an instance that does nothing else.
type world struct {
	operate.Hub // has partitions alone
	faults      *fault.Injector
	works       *operate.Reporter
	asked       *operate.Service
	counts      *counts

	mu     sync.Mutex
	open   map[string]time.Time // when they go on
	n      int
	behind time.Time // since when Relay is; zero for not
	acts   []string
	never  bool // faults can't be lifted
}

// counts are what Sweep finds.
type counts struct {
	operatetest.Told
	mu          sync.Mutex
	stuck, kept int
}

func (c *counts) InState(_ context.Context, state workflow.State, _ int) (operate.Count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == workflow.Stuck {
		return operate.Count{Count: c.stuck}, nil
	}
	return operate.Count{}, nil
}

func (c *counts) Kept(context.Context, int) (operate.Count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return operate.Count{Count: c.kept}, nil
}

// taken sets a count to zero, and returns what it was.
func (c *counts) taken(count *int) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, *count = *count, 0
	return n
}

// start has it work until ctx ends; it is to be waited for then.
func start(ctx context.Context, wait *sync.WaitGroup) *world {
	logger := slog.New(slog.DiscardHandler)
	w := &world{faults: fault.New(), works: operate.NewReporter("a.1", time.Now), counts: &counts{}, open: map[string]time.Time{}}
	w.counts.Store = workflowtest.NewStore(&workflowtest.Gate{})
	config := operate.Config{
		Engine: &engine.Engine{Config: engine.Config{Definition: workflowtest.Trip(), Now: time.Now}},
		Told:   w.counts, Counter: w.counts, Queues: w.counts.Queues, Hub: w, ConsumerGroup: "relay", Logger: logger,
	}
	w.asked = operate.New(config)
	sweeps := operate.New(config)
	wait.Go(func() { w.works.Run(ctx, w.counts, logger) })
	every := func(d time.Duration, do func()) {
		wait.Go(func() {
			tick := time.NewTicker(d)
			defer tick.Stop()
			for {
				do()
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	every(time.Minute, func() { _ = sweeps.Survey(ctx) })
	every(time.Second, func() { w.work(ctx) })
	return w
}

// work calls the backend for what is due, and hands over what is in the hub.
func (w *world) work(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) > 0 || !w.behind.IsZero() {
		switch err := w.works.Sends(queues{w.faults}).Send(ctx); {
		case err == nil:
			w.behind = time.Time{}
		case w.behind.IsZero():
			w.behind = time.Now()
		}
	}
	calls := w.works.Calls(answers(func() workflow.Outcome {
		for _, p := range []fault.Point{fault.BackendAway, fault.BackendSlow, fault.BackendNotFound} {
			if w.faults.HitIn(p, "Hotels") {
				return workflow.Outcome{Retry: workflow.RetryLater, Type: "unavailable"}
			}
		}
		return workflow.Outcome{}
	}))
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		if w.open[id].After(time.Now()) {
			continue
		}
		w.works.Tried(w.faults.Hit(fault.CosmosThrottle))
		if calls.Do(ctx, engine.Attempt{Step: "hotel", Call: workflow.Call{Backend: "hotel"}}).Retry == workflow.RetryLater {
			w.open[id] = time.Now().Add(time.Minute)
			continue
		}
		delete(w.open, id)
	}
}

// queues take everything, unless they are away.
type queues struct{ faults *fault.Injector }

func (q queues) Send(context.Context, ...engine.Queued) error {
	if q.faults.Hit(fault.ServiceBusAway) {
		return errors.New("away")
	}
	return nil
}

type answers func() workflow.Outcome

func (a answers) Do(context.Context, engine.Attempt) workflow.Outcome { return a() }

// Partitions implements operate.Hub.
func (w *world) Partitions(context.Context) ([]relay.Partition, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := relay.Partition{ConsumerGroup: "relay", Partition: "0", RenewedAt: time.Now()}
	if !w.behind.IsZero() {
		p.Lag, p.OldestUnreadAt = 5, w.behind
	}
	return []relay.Partition{p}, nil
}

func (w *world) Plan(context.Context) (fault.Plan, error) { return w.faults.Plan(), nil }

func (w *world) Break(_ context.Context, p fault.Plan) error {
	if w.never && p.Empty() {
		return nil
	}
	return w.faults.Set(p)
}

func (w *world) Send(_ context.Context, end workflow.State) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if end == workflow.Compensated {
		w.undo(fmt.Sprint(w.n))
		return nil
	}
	w.open[fmt.Sprint(w.n)] = time.Now()
	return nil
}

// undo undoes what a transaction has done.
func (w *world) undo(id string) {
	outcome := workflow.Outcome{}
	if w.faults.HitKey(fault.BackendUndoRefused, id) {
		outcome.Retry = workflow.RetryNever
		w.counts.mu.Lock()
		w.counts.stuck++
		w.counts.mu.Unlock()
	}
	w.works.Calls(answers(func() workflow.Outcome { return outcome })).Do(context.Background(), engine.Attempt{Step: "hotel", Undo: true, Call: workflow.Call{Backend: "hotel"}})
}

func (w *world) Poison(context.Context) error {
	w.counts.mu.Lock()
	defer w.counts.mu.Unlock()
	w.counts.kept++
	w.works.Kept()
	return nil
}

func (w *world) Unusual(ctx context.Context) ([]operate.Unusual, error) {
	s, err := w.asked.Status(ctx)
	if w.faults.HitIn(fault.CosmosAway, "second") {
		s.Unusual = append(s.Unusual, operate.Unusual{Key: Missing, Says: "shard 2 is missing", About: "service-errors"})
	}
	return s.Unusual, err
}

func (w *world) Act(_ context.Context, act string, _ time.Time) error {
	w.mu.Lock()
	w.acts = append(w.acts, act)
	w.mu.Unlock()
	switch act {
	case operate.ActRetry:
		for i := range w.counts.taken(&w.counts.stuck) {
			w.undo(fmt.Sprint(i))
		}
	case string(quarantine.ActDrop):
		w.counts.taken(&w.counts.kept)
	default:
		return errors.New("no such act")
	}
	return nil
}

func (w *world) Waiting(context.Context) (all []operate.Summary, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.open {
		all = append(all, operate.Summary{ID: id, WakeAt: workflow.At(at)})
	}
	return all, nil
}

// inWorld runs a test in a world whose clock is that of the test.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		w := start(ctx, &wait)
		time.Sleep(time.Second)
		test(t, w)
		stop()
		wait.Wait()
	})
}
