package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Change is what an operation did to the records, in order.
type Change []Record

// A Record is one entry to keep under Key; a nil Value means to delete it. The
// keys are relative to the partition. The value is not used again.
type Record struct {
	Key   string
	Value []byte
}

const (
	batchPrefix = "events/"
	endKey      = "end"
)

// batchHeader goes before the bodies in a batch's record.
type batchHeader struct {
	Offset int64   `json:"offset"`
	At     int64   `json:"at"` // ns since 1970
	Key    *string `json:"key,omitempty"`
	Sizes  []int   `json:"sizes"`
}

// end is the record of what must be known even when no batch is left.
type end struct {
	Next       int64 `json:"next"`
	Position   int64 `json:"position"`
	LastOffset int64 `json:"lastOffset"`
	At         int64 `json:"at"` // ns since 1970
}

func (b *batch) recordKey() string {
	s := strconv.FormatInt(b.first, 16)
	return batchPrefix + "0000000000000000"[len(s):] + s
}

func (b *batch) record() Record {
	h := batchHeader{Offset: b.offsets[0], At: b.at.UnixNano(), Sizes: make([]int, len(b.bodies))}
	if b.hasKey {
		h.Key = &b.key
	}
	for i, body := range b.bodies {
		h.Sizes[i] = len(body)
	}
	head := mustJSON(h)
	value := make([]byte, 0, int64(binary.MaxVarintLen64+len(head))+b.size)
	value = binary.AppendUvarint(value, uint64(len(head)))
	value = append(value, head...)
	for _, body := range b.bodies {
		value = append(value, body...)
	}
	return Record{Key: b.recordKey(), Value: value}
}

// endRecord follows the newest batch.
func (p *Partition) endRecord() Record {
	b := &p.batches[len(p.batches)-1]
	return Record{Key: endKey, Value: mustJSON(end{
		Next: p.next, Position: p.position, LastOffset: b.offsets[len(b.offsets)-1], At: b.at.UnixNano(),
	})}
}

// mustJSON encodes the record types above, which always can be.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("eventlog: encode a record: %v", err))
	}
	return b
}

// Load makes a partition from the records that its Changes left, in any order.
// All of it is readable. The partition keeps the values.
func Load(cfg Config, records iter.Seq2[string, []byte]) (*Partition, error) {
	p := New(cfg)
	var last end
	type loaded struct {
		batch
		offset int64
	}
	var batches []loaded
	for key, value := range records {
		switch {
		case key == endKey:
			if err := json.Unmarshal(value, &last); err != nil {
				return nil, fmt.Errorf("eventlog: the end record: %w", err)
			}
		case strings.HasPrefix(key, batchPrefix):
			b, offset, err := parseBatch(key, value)
			if err != nil {
				return nil, err
			}
			batches = append(batches, loaded{b, offset})
		default:
			return nil, fmt.Errorf("eventlog: unknown record %q", key)
		}
	}
	slices.SortFunc(batches, func(a, b loaded) int { return int(min(max(a.first-b.first, -1), 1)) })
	for i, b := range batches {
		if i > 0 && b.first != p.next {
			return nil, fmt.Errorf("eventlog: events %d to %d are missing", p.next, b.first-1)
		}
		p.push(b.batch, b.offset)
	}
	if len(batches) > 0 && p.next != last.Next {
		return nil, fmt.Errorf("eventlog: the end record says %d, the events end at %d", last.Next, p.next)
	}
	p.next, p.position, p.readable = last.Next, last.Position, last.Next
	if last.Next > 0 {
		p.enqueued = time.Unix(0, last.At).UTC()
		p.newest = mark{offset: last.LastOffset, at: p.enqueued}
	}
	return p, nil
}

// parseBatch reads a batch's record, except for the offsets of its events
// behind the first.
func parseBatch(key string, value []byte) (b batch, offset int64, err error) {
	if b.first, err = strconv.ParseInt(strings.TrimPrefix(key, batchPrefix), 16, 64); err != nil {
		return b, 0, fmt.Errorf("eventlog: record %q: %w", key, err)
	}
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return b, 0, fmt.Errorf("eventlog: record %q is cut short", key)
	}
	var h batchHeader
	if err := json.Unmarshal(value[n:n+int(size)], &h); err != nil {
		return b, 0, fmt.Errorf("eventlog: record %q: %w", key, err)
	}
	b.at = time.Unix(0, h.At).UTC()
	if h.Key != nil {
		b.key, b.hasKey = *h.Key, true
	}
	rest := value[n+int(size):]
	for _, size := range h.Sizes {
		if size < 0 || size > len(rest) {
			return b, 0, fmt.Errorf("eventlog: record %q is cut short", key)
		}
		b.bodies = append(b.bodies, rest[:size:size])
		rest = rest[size:]
	}
	if len(rest) > 0 || len(b.bodies) == 0 {
		return b, 0, fmt.Errorf("eventlog: record %q: its sizes don't add up", key)
	}
	return b, h.Offset, nil
}
