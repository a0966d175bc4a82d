package eventlog

import (
	"sort"
	"strconv"
	"time"
)

// Config are the settings of a partition.
type Config struct {
	// Retention is how long events are kept at least; it must be positive.
	Retention time.Duration
	// MaxBytes is the size of bodies beyond which the oldest batches are
	// dropped before their time; 0 means no bound.
	MaxBytes int64
}

// A Partition is one partition of an event hub. Use [New] or [Load].
//
// Events are kept, expired and recorded in the batches that they came in.
type Partition struct {
	cfg     Config
	batches []batch // ascending; the first may have been dropped
	size    int64   // bytes of all bodies
	// next is the sequence number, position the offset of the next event.
	next, position int64
	enqueued       time.Time // of the newest batch
	// readable is the number below which events are committed; newest is the
	// last of them, kept when retention drops it.
	readable int64
	newest   mark
}

// mark is what stays known of an event.
type mark struct {
	offset int64
	at     time.Time
}

// batch is what one Append added.
type batch struct {
	first   int64 // the first sequence number
	at      time.Time
	key     string
	hasKey  bool
	offsets []int64 // of the events
	size    int64   // of all bodies
}

func (b *batch) end() int64 { return b.first + int64(len(b.offsets)) }

// Event is an event as a reader sees it, but for the body: the partition itself has
// none in memory.
type Event struct {
	SequenceNumber int64
	Offset         string // opaque to readers, grows with SequenceNumber
	EnqueuedAt     time.Time
	PartitionKey   string
	HasKey         bool // an empty key is a key, too
	// Record is the key of the batch's record, of which Bodies makes the bodies;
	// the event's is that with the index.
	Record string
	Index  int
}

// Properties are what the service tells about a partition at run time.
type Properties struct {
	// First is the sequence number of the oldest event, or of the next one when
	// there is none; Last that of the newest event ever, -1 when there was none.
	First, Last    int64
	LastOffset     string // of the newest event ever, "-1" when there was none
	LastEnqueuedAt time.Time
	Empty          bool
}

// New makes an empty partition.
func New(cfg Config) *Partition { return &Partition{cfg: cfg} }

// Append adds events to the end, all with the same enqueued time and partition
// key (nil for none). They are not readable before Commit. The Change also carries
// what retention drops now.
func (p *Partition) Append(now time.Time, key *string, bodies [][]byte) (first int64, c Change) {
	if len(bodies) == 0 {
		return p.next, p.Expire(now)
	}
	// Enqueued times never decrease within a partition, whatever the clock does.
	if now.Before(p.enqueued) {
		now = p.enqueued
	}
	b := batch{first: p.next, at: now}
	if key != nil {
		b.key, b.hasKey = *key, true
	}
	sizes := make([]int, len(bodies))
	for i, body := range bodies {
		sizes[i] = len(body)
	}
	p.push(b, p.position, sizes)
	c = append(c, p.batches[len(p.batches)-1].record(sizes, bodies), p.endRecord())
	return b.first, append(c, p.Expire(now)...)
}

// push adds b, with bodies of these sizes, to the end, its first event at offset.
// An event takes its size and one more, so that offsets differ.
func (p *Partition) push(b batch, offset int64, sizes []int) {
	b.offsets = make([]int64, len(sizes))
	for i, size := range sizes {
		b.offsets[i] = offset
		offset += int64(size) + 1
		b.size += int64(size)
	}
	p.batches = append(p.batches, b)
	p.size += b.size
	p.next, p.position, p.enqueued = b.end(), offset, b.at
}

// Commit makes the events below end readable, where end is the number after the
// last event of a stored Append.
func (p *Partition) Commit(end int64) {
	if end <= p.readable || end > p.next {
		return
	}
	p.readable = end
	b := &p.batches[p.find(end-1)]
	p.newest = mark{offset: b.offsets[end-1-b.first], at: b.at}
}

// find gives the index of the batch that has the event seq, or of the next
// one; len(p.batches) when there is none.
func (p *Partition) find(seq int64) int {
	return sort.Search(len(p.batches), func(i int) bool { return p.batches[i].end() > seq })
}

// End is the number that the next event gets.
func (p *Partition) End() int64 { return p.next }

// Expire drops the batches that are older than the retention time, and the
// oldest ones beyond the size bound. Uncommitted events stay.
func (p *Partition) Expire(now time.Time) Change {
	var c Change
	n := 0
	for ; n < len(p.batches); n++ {
		b := &p.batches[n]
		old := now.Sub(b.at) >= p.cfg.Retention
		big := p.cfg.MaxBytes > 0 && p.size > p.cfg.MaxBytes
		if !(old || big) || b.end() > p.readable {
			break
		}
		p.size -= b.size
		c = append(c, Record{Key: b.recordKey()})
	}
	if n > 0 {
		clear(p.batches[:n]) // lets the offsets go before append moves the slice
		p.batches = p.batches[n:]
	}
	return c
}

// Read appends to events up to limit readable events from c's place on, and
// moves c behind them. Where retention has overtaken c it goes on with the
// oldest event.
func (p *Partition) Read(c *Cursor, limit int, events []Event) []Event {
	for i := p.find(c.next); i < len(p.batches) && limit > 0; i++ {
		b := &p.batches[i]
		c.next = max(c.next, b.first)
		// Batches become readable as a whole.
		if b.end() > p.readable {
			break
		}
		skip := c.next - b.first
		n := min(int64(limit), b.end()-c.next)
		events = b.appendEvents(events, skip, n)
		c.next += n
		limit -= int(n)
	}
	return events
}

// appendEvents appends n events from the index skip on.
func (b *batch) appendEvents(events []Event, skip, n int64) []Event {
	key := b.recordKey()
	for i := skip; i < skip+n; i++ {
		events = append(events, Event{
			SequenceNumber: b.first + i, Offset: strconv.FormatInt(b.offsets[i], 10), EnqueuedAt: b.at,
			PartitionKey: b.key, HasKey: b.hasKey, Record: key, Index: int(i),
		})
	}
	return events
}

// Properties tells about the readable part of the partition.
func (p *Partition) Properties() Properties {
	out := Properties{First: p.readable, Last: p.readable - 1, LastOffset: "-1", Empty: true}
	if p.readable > 0 {
		out.LastOffset, out.LastEnqueuedAt = strconv.FormatInt(p.newest.offset, 10), p.newest.at
	}
	if len(p.batches) > 0 && p.batches[0].first < p.readable {
		out.First, out.Empty = p.batches[0].first, false
	}
	return out
}

// NextDue gives when Expire drops something for its age, if no event is added.
func (p *Partition) NextDue() (at time.Time, ok bool) {
	if len(p.batches) == 0 || p.batches[0].end() > p.readable {
		return time.Time{}, false
	}
	return p.batches[0].at.Add(p.cfg.Retention), true
}
