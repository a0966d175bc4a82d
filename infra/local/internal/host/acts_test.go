package host

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"
)

// repeating is a retry policy whose next attempt never comes.
const repeating = `"retry":{"strategy":"fixedDelay","maxRetryCount":-1,"delayInterval":"01:00:00"},`

func TestKillHandlerIsACrash(t *testing.T) {
	f := start(t, spec{functions: map[string]string{"T": timerFn}})
	pid := f.HandlerPID()
	if !f.KillHandler() {
		t.Fatal("there is a handler, but none was killed")
	}
	f.logs.until(t, "crash=1")
	eventually(t, "another handler runs", func() bool { now := f.HandlerPID(); return now != 0 && now != pid })
}

// A handler that is killed before it is ready for the third time ends its host
// for good, which no act may do.
func TestKillHandlerSparesTheStart(t *testing.T) {
	c, _ := configure(t, spec{functions: map[string]string{"T": timerFn}, settings: map[string]string{deafVar: "1"}})
	f := run(t, c)
	eventually(t, "the handler runs", func() bool { return f.HandlerPID() != 0 })
	if f.KillHandler() {
		t.Error("the handler of a host that isn't ready was killed")
	}
}

// Ensure that the trigger passes over the events of a batch in whose retries
// the host is stopped, as the real one may.
func TestAwaitRetryLosesABatchToTheTrigger(t *testing.T) {
	for name, fails := range map[string]bool{"one that the handler fails": true, "one that is made to fail": false} {
		t.Run(name, func(t *testing.T) {
			connection := messaging(t, hubs(1))
			container, _ := containers(t)
			checkpoints := NewCosmosCheckpoints(container)
			calls := make(chan call, 100)
			var failing atomic.Bool
			failing.Store(fails)
			answer := func(w http.ResponseWriter, r *http.Request) {
				calls <- readCall(r)
				if failing.Load() {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				ok(w, r)
			}
			f := start(t, hubSpec(connection, manyFunction(repeating), checkpoints, answer))
			awaited := make(chan error, 1)
			if fails {
				produce(t, connection, "requests", "0", "lost", "lost too")
				take(t, calls, 1) // the rest may be in a batch of its own
			}
			go func() { awaited <- f.AwaitRetry(t.Context(), 0) }()
			if !fails {
				eventually(t, "attempts are withheld", func() bool { return f.repeats.admit() != nil })
				produce(t, connection, "requests", "0", "lost")
			}
			if err := receive(t, awaited); err != nil {
				t.Fatal(err)
			}
			f.stop()
			if err := f.end(t); err != nil {
				t.Fatal(err)
			}
			failing.Store(false)
			if len(calls) > 0 && !fails {
				t.Error("the handler was called for a batch that was withheld")
			}
			at := checkpointOf(t, checkpoints, connection)
			if at < 0 {
				t.Fatal("the batch was not checkpointed")
			}
			// Another host begins behind it.
			produce(t, connection, "requests", "0", "next")
			start(t, hubSpec(connection, manyFunction(repeating), checkpoints, answer))
			want := []string{"next"}
			if fails && at == 0 {
				want = []string{"lost too", "next"}
			}
			if diff := cmp.Diff(want, take(t, calls, len(want))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checkpointOf returns the sequence number of partition 0's checkpoint, -1
// without one.
func checkpointOf(t *testing.T, s azeventhubs.CheckpointStore, connection string) int64 {
	t.Helper()
	props, err := azeventhubs.ParseConnectionString(connection)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ListCheckpoints(t.Context(), props.FullyQualifiedNamespace, "requests", "relay", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return -1
	}
	return *list[0].SequenceNumber
}

func TestAwaitRetryGivesUp(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	calls := make(chan call, 100)
	f := start(t, hubSpec(connection, manyFunction(repeating), NewCosmosCheckpoints(container), func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		ok(w, r)
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	awaited := make(chan error, 1)
	go func() { awaited <- f.AwaitRetry(ctx, 0) }()
	eventually(t, "attempts are withheld", func() bool { return f.repeats.admit() != nil })
	enough := errors.New("enough")
	cancel(enough)
	if err := receive(t, awaited); !errors.Is(err, enough) {
		t.Errorf("AwaitRetry: %v", err)
	}
	produce(t, connection, "requests", "0", "a")
	if diff := cmp.Diff([]string{"a"}, take(t, calls, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestAwaitRetryNeedsAPolicy(t *testing.T) {
	f := start(t, spec{functions: map[string]string{"T": timerFn}})
	if err := f.AwaitRetry(t.Context(), 0); !errors.Is(err, ErrNothingToRepeat) {
		t.Errorf("AwaitRetry: %v", err)
	}
}

func TestRetryMostBoundsThePolicy(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	calls := make(chan call, 100)
	s := hubSpec(connection, manyFunction(repeating), NewCosmosCheckpoints(container), func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		w.WriteHeader(http.StatusInternalServerError)
	})
	change := s.change
	s.change = func(c *Config) { change(c); c.RetryMost = time.Millisecond }
	produce(t, connection, "requests", "0", "a")
	start(t, s)
	take(t, calls, 2)
}

// rounds is a checkpoint store that tells of each claim that has ended.
type rounds struct {
	azeventhubs.CheckpointStore
	ended chan struct{}
}

func (r *rounds) ClaimOwnership(ctx context.Context, claims []azeventhubs.Ownership, options *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	got, err := r.CheckpointStore.ClaimOwnership(ctx, claims, options)
	select {
	case r.ended <- struct{}{}:
	default:
	}
	return got, err
}

// Ensure that batches are worked on twice when their partitions go to other
// owners in the meantime, and that the partitions come back.
func TestLosePartitions(t *testing.T) {
	t.Parallel()
	connection := messaging(t, hubs(2))
	container, _ := containers(t)
	store := &rounds{NewCosmosCheckpoints(container), make(chan struct{})}
	calls, leave := make(chan call, 100), make(chan struct{})
	var n atomic.Int32
	s := hubSpec(connection, manyFunction(repeating), store, func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		if n.Add(1) <= 2 {
			<-leave
		}
		ok(w, r)
	})
	s.extensions = `{"eventHubs":{"loadBalancingUpdateInterval":"00:00:00.1","partitionOwnershipExpirationInterval":"00:00:02"}}`
	f := start(t, s)
	produce(t, connection, "requests", "0", "zero")
	produce(t, connection, "requests", "1", "one")
	want := map[string]bool{"zero": true, "one": true}
	seen := func() map[string]bool {
		seen := map[string]bool{}
		for _, body := range take(t, calls, 2) {
			seen[body] = true
		}
		return seen
	}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Fatal(diff)
	}
	taken := 0
	eventually(t, "the partitions are taken", func() bool {
		n, err := f.LosePartitions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken += n // one may just be renewed
		return taken == 2
	})
	// The next claim of the host's that ends may have begun before; when the one
	// after it has ended, the host knows.
	for range 3 {
		receive(t, store.ended)
	}
	close(leave)
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Error(diff)
	}
	f.logs.until(t, "another instance owns the partition")
}

// leases is a timer store that notes for how long leases are taken.
type leases struct {
	TimerStore
	taken chan time.Duration
}

func (l *leases) Acquire(ctx context.Context, timer, owner string, now, until time.Time) (TimerState, bool, error) {
	l.taken <- until.Sub(now)
	return l.TimerStore.Acquire(ctx, timer, owner, now, until)
}

func TestTimerLease(t *testing.T) {
	store := &leases{NewMemoryTimers(), make(chan time.Duration, 1000)}
	start(t, spec{functions: map[string]string{"T": timerFn}, change: func(c *Config) { c.Timers, c.TimerLease = store, 30*time.Millisecond }})
	for range 3 { // taken, and renewed
		if got := receive(t, store.taken); got != 30*time.Millisecond {
			t.Errorf("lease of %v", got)
		}
	}
}
