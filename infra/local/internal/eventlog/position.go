package eventlog

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
)

// A Kind says what a Position is counted in.
type Kind uint8

// The kinds of position.
const (
	ByOffset Kind = iota
	BySequenceNumber
	ByEnqueuedTime
	Latest // behind the newest event
)

// A Position is where a reader starts.
type Position struct {
	Kind Kind
	// Value is the offset, the sequence number, or the time in ms since 1970.
	// Offset and sequence number -1 lie before the first event.
	Value int64
	// Inclusive starts at the named event instead of behind it; with Latest, at
	// the newest event. A time is always inclusive.
	Inclusive bool
}

// Earliest is the position before the first event.
var Earliest = Position{Kind: ByOffset, Value: -1}

var selector = regexp.MustCompile(
	`^\s*amqp\.annotation\.x-opt-(offset|sequence-number|enqueued-time)\s*(>=?)\s*'(@latest|-?[0-9]+)'\s*$`)

// ParsePosition reads a selector filter such as
// amqp.annotation.x-opt-sequence-number >= '12'. The errors wrap
// ErrBadPosition.
func ParsePosition(filter string) (Position, error) {
	m := selector.FindStringSubmatch(filter)
	if m == nil {
		return Position{}, fmt.Errorf("%w: %q", ErrBadPosition, filter)
	}
	p := Position{Inclusive: m[2] == ">="}
	if m[3] == "@latest" {
		if m[1] == "enqueued-time" {
			return Position{}, fmt.Errorf("%w: %q", ErrBadPosition, filter)
		}
		p.Kind = Latest
		return p, nil
	}
	switch m[1] {
	case "sequence-number":
		p.Kind = BySequenceNumber
	case "enqueued-time":
		p.Kind = ByEnqueuedTime
	}
	value, err := strconv.ParseInt(m[3], 10, 64)
	if err != nil {
		return Position{}, fmt.Errorf("%w: %q: %w", ErrBadPosition, filter, err)
	}
	p.Value = value
	return p, nil
}

// A Cursor is a reader's place in a partition. Only Start makes a useful one.
type Cursor struct {
	next int64
}

// Next is the number of the event that is read next, if retention leaves it.
func (c Cursor) Next() int64 { return c.next }

// Start gives the place of a position in the readable part of the partition.
// The errors wrap ErrBeyondEnd.
func (p *Partition) Start(at Position) (Cursor, error) {
	last := p.readable - 1
	switch at.Kind {
	case Latest:
		if at.Inclusive {
			return Cursor{max(last, 0)}, nil
		}
		return Cursor{p.readable}, nil
	case BySequenceNumber:
		if at.Value > max(last, 0) {
			return Cursor{}, refuse(ErrBeyondEnd, "The supplied sequence number '%d' is invalid. "+
				"The last sequence number in the system is '%d'", at.Value, last)
		}
		return p.cursor(at.Value, at.Inclusive), nil
	case ByEnqueuedTime:
		return p.atTime(at.Value), nil
	default:
		return p.atOffset(at)
	}
}

// cursor is the place at or behind seq.
func (p *Partition) cursor(seq int64, inclusive bool) Cursor {
	if !inclusive {
		seq++
	}
	return Cursor{min(max(seq, 0), p.readable)}
}

// atTime is before the first event of that time, in whole milliseconds as the
// wire has it, or later. Clients ask for > and promise "on or after" (Microsoft
// Learn, EventPosition.FromEnqueuedTime): the service's times are finer than the
// wire's, so that an event is later than the time it shows.
func (p *Partition) atTime(ms int64) Cursor {
	i := sort.Search(len(p.batches), func(i int) bool { return p.batches[i].at.UnixMilli() >= ms })
	if i == len(p.batches) {
		return Cursor{p.readable}
	}
	return p.cursor(p.batches[i].first, true)
}

func (p *Partition) atOffset(at Position) (Cursor, error) {
	if at.Value < 0 {
		return Cursor{0}, nil
	}
	if at.Value > p.newest.offset {
		return Cursor{}, refuse(ErrBeyondEnd, "The supplied offset '%d' is invalid. "+
			"The last offset in the system is '%s'", at.Value, p.Properties().LastOffset)
	}
	i := sort.Search(len(p.batches), func(i int) bool {
		offsets := p.batches[i].offsets
		return offsets[len(offsets)-1] >= at.Value
	})
	if i == len(p.batches) {
		return Cursor{p.readable}, nil
	}
	b := &p.batches[i]
	j := sort.Search(len(b.offsets), func(j int) bool { return b.offsets[j] >= at.Value })
	named := b.offsets[j] == at.Value
	// An offset between two events stands for the later one, as after retention.
	return p.cursor(b.first+int64(j), at.Inclusive || !named), nil
}

// Rewind makes seq the next event again, after it was read and not passed on.
func (c *Cursor) Rewind(seq int64) { c.next = min(c.next, seq) }
