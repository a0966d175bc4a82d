package broker

import (
	"log/slog"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A keeper is the lock of one entity (a queue, a partition) and the order of its
// changes. Who holds the lock puts changes and what is to happen when they are
// kept; the keeper's goroutine commits them, in that order, all that has
// gathered in one batch. So nobody waits for the store with a lock held, and
// callbacks of the store find no lock held by the keeper.
type keeper struct {
	mu     sync.Mutex
	store  store.Store
	prefix string // of the entity's keys
	log    *slog.Logger
	now    func() time.Time

	// Guarded by mu.
	batch   store.Batch
	after   []func(error)
	stopped error // why nothing is taken any more: closed, or the store failed

	wake     chan struct{} // has room for one: something was put
	closing  sync.Once
	reason   error // why it was closed; written before quit is closed
	quit     chan struct{}
	finished chan struct{}
	commits  sync.WaitGroup // callbacks of the store that are due
}

func newKeeper(s store.Store, prefix string, now func() time.Time, log *slog.Logger) *keeper {
	return &keeper{
		store: s, prefix: prefix, log: log, now: now,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), finished: make(chan struct{}),
	}
}

// put changes a record, a nil value deletes it; mu is held.
func (k *keeper) put(key string, value []byte) {
	if value == nil {
		k.batch.Delete(k.prefix + key)
		return
	}
	k.batch.Put(k.prefix+key, value)
}

// then calls f when all that was put before is kept, or could not be; mu is
// held. f must not block.
func (k *keeper) then(f func(error)) { k.after = append(k.after, f) }

// signal makes the goroutine look; it may be called with or without mu.
func (k *keeper) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run is the keeper's goroutine. before is called with mu held ahead of every
// commit; it does what is due, and tells when it wants to be called again even
// if nothing happens. failed is called once when the store fails.
func (k *keeper) run(before func(now time.Time) (next time.Time, ok bool), failed func(*amqp.Error)) {
	defer close(k.finished)
	defer k.commits.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		k.mu.Lock()
		next, ok := before(k.now())
		k.commit(failed)
		timer.Stop()
		if ok {
			// Never at once: a clock that is not the timer's could spin.
			timer.Reset(max(next.Sub(k.now()), time.Millisecond))
		}
		select {
		case <-k.wake:
		case <-timer.C:
		case <-k.quit:
			k.mu.Lock()
			if k.stopped == nil {
				k.stopped = k.reason
			}
			k.commit(failed)
			return
		}
	}
}

// commit hands over what has gathered and releases mu.
func (k *keeper) commit(failed func(*amqp.Error)) {
	batch, after := k.batch, k.after
	k.batch, k.after = store.Batch{}, nil
	k.mu.Unlock()
	if batch.Empty() && len(after) == 0 {
		return
	}
	k.commits.Add(1)
	k.store.Commit(batch, func(err error) {
		defer k.commits.Done()
		if err != nil {
			err = k.fail(err, failed)
		}
		for _, f := range after {
			f(err)
		}
	})
}

// fail stops the entity for good: what it has in memory is ahead of the store,
// so nothing that it would say could be relied on.
func (k *keeper) fail(err error, failed func(*amqp.Error)) error {
	k.log.Error("the store failed", "entity", k.prefix, "error", err)
	e := amqp.Errorf(amqp.CondInternalError, "the store failed: %v", err)
	k.mu.Lock()
	first := k.stopped == nil
	k.stopped = e
	k.mu.Unlock()
	if first {
		failed(e)
	}
	return e
}

// close commits what has gathered and waits for it; what comes later is refused
// for the given reason. It may be called again.
func (k *keeper) close(reason error) {
	k.closing.Do(func() {
		k.reason = reason
		close(k.quit)
	})
	<-k.finished
}
