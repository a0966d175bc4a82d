package broker

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// hub finds a hub by its name in lower case.
func (b *Broker) hub(name string) (*hub, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	h, ok := b.hubs[name]
	return h, ok
}

// HoldHub has an event hub refuse events, as a busy one does, or take them again.
// Its readers get on meanwhile. A hub that is recreated is not held.
func (b *Broker) HoldHub(name string, hold bool) error {
	h, ok := b.hub(strings.ToLower(name))
	if !ok {
		return noEntity(name)
	}
	h.held.Store(hold)
	return nil
}

// DisableSends gives a hub the status SendDisabled, or Active: it takes events no more, or
// again, and its readers get on (Microsoft Learn, "Configure properties of an event hub").
// What was not taken when it returns, never is. The status outlives the Broker; a hub
// that is recreated is Active.
func (b *Broker) DisableSends(name string, disabled bool) error {
	b.changing.Lock()
	defer b.changing.Unlock()
	lower := strings.ToLower(name)
	h, ok := b.hub(lower)
	switch {
	case b.closed:
		return errClosed
	case !ok:
		return noEntity(name)
	}
	h.gate.Lock()
	defer h.gate.Unlock()
	r := hubRecord{Created: h.created.UnixMilli(), Partitions: len(h.partitions), SendDisabled: disabled}
	if err := r.keep(b.store, recordsOf(lower)+"hub"); err != nil {
		return fmt.Errorf("broker: event hub %s: %w", name, err)
	}
	h.disabled = disabled
	return nil
}

// RecreateHub deletes an event hub with all of its events, and creates it again
// under the same name: it is empty, its sequence numbers and offsets begin anew,
// and its creation time is a later one. Links to the old hub end; what arrives on
// them meanwhile is taken by none. A reader that starts behind the end of the new
// hub is refused, as by the service, until the new hub has got as far.
//
// What was acknowledged and not read yet is gone, as with the service. An error
// leaves the hub without use: it says that the store has failed.
func (b *Broker) RecreateHub(name string) error {
	_, err := b.RecreateHubIf(name, func([]int64) bool { return true })
	return err
}

// RecreateHubIf is RecreateHub if may agrees. It is given, by partition, the
// sequence number that the next event would get, twice: while the hub is in use,
// and when it takes no more events. If it agrees the first time only, the hub
// stays as it was, and its links end.
func (b *Broker) RecreateHubIf(name string, may func(ends []int64) bool) (recreated bool, err error) {
	b.changing.Lock()
	defer b.changing.Unlock()
	if b.closed {
		return false, errClosed
	}
	lower := strings.ToLower(name)
	old, ok := b.hub(lower)
	if !ok {
		return false, noEntity(name)
	}
	if !may(old.ends()) {
		return false, nil
	}
	old.close(errDeleted)
	old.held.Store(false) // who sends on a link to it is to hear that it is gone
	if recreated = may(old.ends()); recreated {
		err = b.recreate(lower, old)
	} else {
		err = b.reopen(lower, old, old.created)
	}
	return recreated, err
}

// recreate puts an empty hub in the place of one that is closed.
func (b *Broker) recreate(lower string, old *hub) error {
	var gone store.Batch
	for key := range b.store.All(recordsOf(lower)) {
		gone.Delete(key)
	}
	if err := store.Apply(b.store, gone); err != nil {
		return fmt.Errorf("broker: delete event hub %s: %w", old.cfg.Name, err)
	}
	at := b.now()
	if earliest := old.created.Add(time.Millisecond); at.Before(earliest) {
		at = earliest
	}
	return b.reopen(lower, old, at)
}

// reopen opens a hub that is closed, with what the store has of it.
func (b *Broker) reopen(lower string, old *hub, at time.Time) error {
	h, err := openHub(old.cfg, b.store, at, b.now, b.log)
	if err != nil {
		return fmt.Errorf("broker: open event hub %s again: %w", old.cfg.Name, err)
	}
	h.start()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hubs[lower] = h
	return nil
}
