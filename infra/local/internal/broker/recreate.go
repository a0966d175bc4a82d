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

// RecreateHub deletes an event hub with all of its events, and creates it again
// under the same name: it is empty, its sequence numbers and offsets begin anew,
// and its creation time is a later one. Links to the old hub end; what arrives on
// them meanwhile is taken by none. A reader that starts behind the end of the new
// hub is refused, as by the service, until the new hub has got as far.
//
// What was acknowledged and not read yet is gone, as with the service. An error
// leaves the hub without use: it says that the store has failed.
func (b *Broker) RecreateHub(name string) error {
	b.changing.Lock()
	defer b.changing.Unlock()
	if b.closed {
		return errClosed
	}
	lower := strings.ToLower(name)
	old, ok := b.hub(lower)
	if !ok {
		return noEntity(name)
	}
	old.close(errDeleted)
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
	h, err := openHub(old.cfg, b.store, at, b.now, b.log)
	if err != nil {
		return fmt.Errorf("broker: create event hub %s again: %w", old.cfg.Name, err)
	}
	h.start()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hubs[lower] = h
	return nil
}
