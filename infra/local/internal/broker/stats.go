package broker

import "strings"

// Stats are the numbers of a Broker's messages and events at one moment of each
// queue and partition.
type Stats struct {
	Queues []QueueStats // in the order of Config
	Hubs   []HubStats
}

// QueueStats count the messages of a queue. Each is counted once.
type QueueStats struct {
	Name                                string
	Active, Locked, Deferred, Scheduled int
	// DeadLettered is all of the dead-letter sub-queue.
	DeadLettered int
}

// HubStats describe the partitions of a hub, in the order of their ids.
type HubStats struct {
	Name       string
	Partitions []PartitionStats
}

// PartitionStats are the sequence numbers of the oldest event that is kept and
// of the newest event ever, whether kept or not. First > Last means that there
// is none to read; Last is -1 before the first event.
type PartitionStats struct {
	ID          string
	First, Last int64
	Readers     int // receiving links, of all consumer groups
}

// Stats tells what there is now.
func (b *Broker) Stats() Stats {
	var out Stats
	for _, c := range b.cfg.Queues {
		out.Queues = append(out.Queues, b.queues[strings.ToLower(c.Name)].stats())
	}
	for _, c := range b.cfg.Hubs {
		h := HubStats{Name: c.Name}
		hub, _ := b.hub(strings.ToLower(c.Name))
		for _, p := range hub.partitions {
			h.Partitions = append(h.Partitions, p.stats())
		}
		out.Hubs = append(out.Hubs, h)
	}
	return out
}

func (n *queueNode) stats() QueueStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.q.Counts()
	return QueueStats{
		Name: n.cfg.Name, Active: c.Active, Locked: c.Locked, Deferred: c.Deferred,
		Scheduled: c.Scheduled, DeadLettered: c.DeadLetter,
	}
}

func (n *partitionNode) stats() PartitionStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.events.Properties()
	return PartitionStats{ID: n.id, First: p.First, Last: p.Last, Readers: len(n.sources)}
}
