package broker

import (
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
)

// readHub answers the READ operation: what a hub or a partition is like at run
// time. The entity is in the address or in the property name.
func (b *Broker) readHub(r amqp.Request, entity []string) (amqp.Response, error) {
	name := text(r.Properties["name"])
	lower := strings.ToLower(name)
	h, found := b.hub(lower)
	if !found || len(entity) > 0 && entity[0] != lower {
		return amqp.Response{}, noEntity(name)
	}
	if err := b.mayRead(r, lower); err != nil {
		return amqp.Response{}, err
	}
	if err := b.eventHubsFaults(lower).reached(); err != nil {
		return amqp.Response{}, err
	}
	switch kind := text(r.Properties["type"]); kind {
	case "com.microsoft:eventhub":
		return success(h.describe())
	case "com.microsoft:partition":
		p, err := h.partition(text(r.Properties["partition"]))
		if err != nil {
			return amqp.Response{}, err
		}
		return success(p.describe(h.cfg.Name))
	default:
		return amqp.Response{}, amqp.Errorf(amqp.CondNotImplemented, "The type '%s' can't be read", kind)
	}
}

// mayRead lets a connection read that may use the hub, and a request that brings
// a token of its own.
func (b *Broker) mayRead(r amqp.Request, hub string) error {
	err := b.authorized(r.Conn, hub)
	token, brought := r.Properties["security_token"].(string)
	if err == nil || !brought {
		return err
	}
	_, err = b.checkSAS(token, r.Conn.Hostname+"/"+hub+"/"+segManagement)
	return err
}

func (h *hub) describe() map[string]any {
	ids := make([]string, len(h.partitions))
	for i, p := range h.partitions {
		ids[i] = p.id
	}
	return map[string]any{
		"name": h.cfg.Name, "type": "com.microsoft:eventhub", "created_at": h.created,
		"partition_count": int32(len(ids)), "partition_ids": ids,
		"georeplication_factor": int32(1), // one copy: no geo-replication
	}
}

func (n *partitionNode) describe(hub string) map[string]any {
	n.mu.Lock()
	p := n.events.Properties()
	n.mu.Unlock()
	if p.LastEnqueuedAt.IsZero() {
		p.LastEnqueuedAt = time.Unix(0, 0).UTC() // AMQP has no time before all times
	}
	return map[string]any{
		"name": hub, "type": "com.microsoft:partition", "partition": n.id,
		"begin_sequence_number": p.First, "last_enqueued_sequence_number": p.Last,
		"last_enqueued_offset": p.LastOffset, "last_enqueued_time_utc": p.LastEnqueuedAt,
		"is_partition_empty": p.Empty,
	}
}
