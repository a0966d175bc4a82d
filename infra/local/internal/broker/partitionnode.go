package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A partitionNode is a partition with its readers. The keeper's mu guards
// events, readers and sources.
type partitionNode struct {
	*keeper
	id      string
	events  *eventlog.Partition
	readers map[string]*eventlog.Readers // by consumer group in lower case
	sources map[*eventlog.Reader]*hubSource
	pumps   sync.WaitGroup
}

func openPartition(id string, cfg HubConfig, s store.Store, prefix string, now func() time.Time, log *slog.Logger) (*partitionNode, error) {
	p, err := eventlog.Load(cfg.rules(), below(s, prefix))
	if err != nil {
		return nil, err
	}
	return &partitionNode{
		keeper: newKeeper(s, prefix, now, log), id: id, events: p,
		readers: make(map[string]*eventlog.Readers), sources: make(map[*eventlog.Reader]*hubSource),
	}, nil
}

// keep puts a change of the log; mu is held.
func (n *partitionNode) keep(c eventlog.Change) {
	for _, r := range c {
		n.put(r.Key, r.Value)
	}
}

// turn drops what retention doesn't keep; mu is held.
func (n *partitionNode) turn(now time.Time) (next time.Time, ok bool) {
	if n.stopped != nil {
		return time.Time{}, false
	}
	n.keep(n.events.Expire(now))
	return n.events.NextDue()
}

// add appends events and calls done when they are kept; only then readers see
// them.
func (n *partitionNode) add(key *string, bodies [][]byte, done func(error)) {
	n.mu.Lock()
	if err := n.stopped; err != nil {
		n.mu.Unlock()
		done(err)
		return
	}
	first, c := n.events.Append(n.now(), key, bodies)
	n.keep(c)
	n.then(func(err error) {
		if err == nil {
			n.reveal(first + int64(len(bodies)))
		}
		done(err)
	})
	n.mu.Unlock()
	n.signal()
}

// bodies reads the bodies of the batch that an event is of; there are none when
// retention has dropped it since. mu must not be held.
func (n *partitionNode) bodies(e *eventlog.Event) ([][]byte, error) {
	value, err := n.store.Get(n.prefix + e.Record)
	if errors.Is(err, store.ErrAbsent) && n.dropped(e) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	return eventlog.Bodies(value)
}

// dropped reports whether an event that was read has gone since, with retention or
// with its hub.
func (n *partitionNode) dropped(e *eventlog.Event) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped != nil || e.SequenceNumber < n.events.Properties().First
}

// reveal lets readers have the events below end.
func (n *partitionNode) reveal(end int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events.Commit(end)
	for _, s := range n.sources {
		s.signal()
	}
}

// join makes a reader of the consumer group, and drives out those that its
// owner level beats.
func (n *partitionNode) join(group string, a amqp.Attach, out amqp.Outgoing) (*hubSource, error) {
	position := eventlog.Earliest
	if filter, ok := a.Filters[selectorFilter]; ok {
		p, err := eventlog.ParsePosition(text(filter))
		if err != nil {
			return nil, err
		}
		position = p
	}
	r, err := readerOf(a)
	if err != nil {
		return nil, err
	}
	s, beaten, err := n.enter(group, r, position, slices.Contains(a.Capabilities, metricsCapability), out)
	if err != nil {
		return nil, err
	}
	for _, b := range beaten {
		b.lose(r)
	}
	return s, nil
}

// enter does join's part that needs the lock.
func (n *partitionNode) enter(group string, r *eventlog.Reader, at eventlog.Position, tells bool, out amqp.Outgoing) (s *hubSource, beaten []*hubSource, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped != nil {
		return nil, nil, n.stopped
	}
	cursor, err := n.events.Start(at)
	if err != nil {
		return nil, nil, err
	}
	readers := n.readers[group]
	if readers == nil {
		readers = new(eventlog.Readers)
		n.readers[group] = readers
	}
	lost, err := readers.Join(r)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lost {
		beaten = append(beaten, n.sources[l])
		delete(n.sources, l)
	}
	s = newHubSource(n, group, r, cursor, tells, out)
	n.sources[r] = s
	n.pumps.Go(s.pump)
	return s, beaten, nil
}

// leave forgets a reader.
func (n *partitionNode) leave(s *hubSource) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.readers[s.group].Leave(s.reader)
	delete(n.sources, s.reader)
}

// dropSources ends all receiving links.
func (n *partitionNode) dropSources(e *amqp.Error) {
	n.mu.Lock()
	sources := slices.Collect(maps.Values(n.sources))
	n.mu.Unlock()
	for _, s := range sources {
		s.end(e)
	}
}

// close keeps what was taken, and stops the readers, who are told why.
func (n *partitionNode) close(reason *amqp.Error) {
	n.keeper.close(reason)
	n.dropSources(reason)
	n.pumps.Wait()
}
