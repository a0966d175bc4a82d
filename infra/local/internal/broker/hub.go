package broker

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A hub is an event hub.
type hub struct {
	cfg        HubConfig
	created    time.Time
	partitions []*partitionNode
	groups     map[string]struct{} // by name in lower case
	turn       atomic.Uint64       // counts transfers without a key
	held       atomic.Bool         // takes no events for a while, see HoldHub

	// gate is held by who changes disabled, and shared by who adds events.
	gate     sync.RWMutex
	disabled bool // for senders, see DisableSends
}

// recordsOf is the prefix of the records of a hub.
func recordsOf(name string) string { return "eventhubs/" + strings.ToLower(name) + "/" }

// openHub recovers a hub, or creates it at the given time.
func openHub(cfg HubConfig, s store.Store, at time.Time, now func() time.Time, log *slog.Logger) (*hub, error) {
	prefix := recordsOf(cfg.Name)
	r, err := openHubRecord(s, prefix+"hub", cfg.Partitions, at)
	if err != nil {
		return nil, err
	}
	h := &hub{cfg: cfg, created: time.UnixMilli(r.Created).UTC(), disabled: r.SendDisabled, groups: make(map[string]struct{})}
	for _, g := range append([]string{defaultGroup}, cfg.ConsumerGroups...) {
		h.groups[strings.ToLower(g)] = struct{}{}
	}
	for i := range cfg.Partitions {
		id := strconv.Itoa(i)
		p, err := openPartition(id, cfg, s, prefix+"partitions/"+id+"/", now, log)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", id, err)
		}
		h.partitions = append(h.partitions, p)
	}
	return h, nil
}

// hubRecord is what is kept of a hub besides its events.
type hubRecord struct {
	Created    int64 `json:"created"` // ms since 1970
	Partitions int   `json:"partitions"`
	// SendDisabled is the status of that name.
	SendDisabled bool `json:"sendDisabled,omitempty"`
}

// openHubRecord reads when the hub was first opened, or keeps that it is now. The
// number of partitions stays what it was then, as in the service (Microsoft
// Learn, "Azure Event Hubs quotas and limits"): with another one the events of a
// key would be in two partitions, or out of reach.
func openHubRecord(s store.Store, key string, partitions int, now time.Time) (hubRecord, error) {
	for k, value := range s.All(key) {
		if k != key {
			continue
		}
		var r hubRecord
		if err := json.Unmarshal(value, &r); err != nil {
			return r, fmt.Errorf("read %s: %w", key, err)
		}
		if r.Partitions != partitions {
			return r, fmt.Errorf("it was created with %d partitions and can't have %d now", r.Partitions, partitions)
		}
		return r, nil
	}
	r := hubRecord{Created: now.UnixMilli(), Partitions: partitions}
	return r, r.keep(s, key)
}

// keep writes the record.
func (r hubRecord) keep(s store.Store, key string) error {
	value, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep %s: %w", key, err)
	}
	var b store.Batch
	b.Put(key, value)
	if err := store.Apply(s, b); err != nil {
		return fmt.Errorf("keep %s: %w", key, err)
	}
	return nil
}

func (h *hub) start() {
	for _, p := range h.partitions {
		go p.run(p.turn, p.dropSources)
	}
}

// close keeps what was taken, and ends the links for the given reason.
func (h *hub) close(reason *amqp.Error) {
	for _, p := range h.partitions {
		p.close(reason)
	}
}

// ends returns, by partition, the sequence number that the next event gets.
func (h *hub) ends() []int64 {
	ends := make([]int64, len(h.partitions))
	for i, p := range h.partitions {
		p.mu.Lock()
		ends[i] = p.events.End()
		p.mu.Unlock()
	}
	return ends
}

// partition finds a partition by its id.
func (h *hub) partition(id string) (*partitionNode, error) {
	for _, p := range h.partitions {
		if p.id == id {
			return p, nil
		}
	}
	return nil, amqp.Errorf(amqp.CondArgumentOutOfRange,
		"The specified partition '%s' is invalid for an EventHub partition sender or receiver. It should be between 0 and %d",
		id, len(h.partitions)-1)
}

// pick chooses the partition of events that were sent to the hub: by key, or
// the next one in turn.
func (h *hub) pick(key *string) *partitionNode {
	if key != nil {
		return h.partitions[eventlog.PartitionOf(*key, len(h.partitions))]
	}
	return h.partitions[(h.turn.Add(1)-1)%uint64(len(h.partitions))]
}

// openSink takes the segments behind the hub's name.
func (h *hub) openSink(segs []string, address string, client *mortal) (amqp.Sink, error) {
	h.gate.RLock()
	defer h.gate.RUnlock()
	if h.disabled {
		return nil, sendDisabled(h.cfg.Name)
	}
	switch {
	case len(segs) == 0:
		return &hubSink{hub: h, client: client}, nil
	case len(segs) == 2 && segs[0] == segPartitions:
		p, err := h.partition(segs[1])
		if err != nil {
			return nil, err
		}
		return &hubSink{hub: h, only: p, client: client}, nil
	default:
		return nil, amqp.Errorf(amqp.CondNotAllowed, "Nothing can be sent to '%s'", address)
	}
}

// openSource takes the segments behind the hub's name.
func (h *hub) openSource(segs []string, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	if len(segs) != 4 { // ConsumerGroups/GROUP/Partitions/ID
		return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotAllowed, "Nothing can be received from '%s'", a.Address)
	}
	p, err := h.partition(segs[3])
	if err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	s, err := p.join(segs[1], a, out)
	if err != nil {
		return nil, amqp.LinkOptions{}, wire(err)
	}
	options := amqp.LinkOptions{MaxMessageSize: maxEventBytes, Settled: true}
	if s.tells {
		options.Capabilities = []string{metricsCapability}
	}
	return s, options, nil
}
