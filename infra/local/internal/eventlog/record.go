package eventlog

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
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

func (b *batch) record(sizes []int, bodies [][]byte) Record {
	h := batchHeader{Offset: b.offsets[0], At: b.at.UnixNano(), Sizes: sizes}
	if b.hasKey {
		h.Key = &b.key
	}
	head := mustJSON(h)
	value := make([]byte, 0, int64(binary.MaxVarintLen64+len(head))+b.size)
	value = binary.AppendUvarint(value, uint64(len(head)))
	value = append(value, head...)
	for _, body := range bodies {
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
// All of it is readable. The partition doesn't keep the values.
func Load(cfg Config, records iter.Seq2[string, []byte]) (*Partition, error) {
	p := New(cfg)
	var last end
	var batches []loaded
	for key, value := range records {
		switch {
		case key == endKey:
			if err := json.Unmarshal(value, &last); err != nil {
				return nil, fmt.Errorf("eventlog: the end record: %w", err)
			}
		case strings.HasPrefix(key, batchPrefix):
			b, err := parseBatch(key, value)
			if err != nil {
				return nil, err
			}
			batches = append(batches, b)
		default:
			return nil, fmt.Errorf("eventlog: unknown record %q", key)
		}
	}
	slices.SortFunc(batches, func(a, b loaded) int { return cmp.Compare(a.first, b.first) })
	for i, b := range batches {
		if i > 0 && b.first != p.next {
			return nil, fmt.Errorf("eventlog: events %d to %d are missing", p.next, b.first-1)
		}
		p.push(b.batch, b.offset, b.sizes)
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

// loaded is a batch without the offsets of its events.
type loaded struct {
	batch
	offset int64 // of the first event
	sizes  []int
}

func parseBatch(key string, value []byte) (b loaded, err error) {
	if b.first, err = strconv.ParseInt(strings.TrimPrefix(key, batchPrefix), 16, 64); err != nil {
		return b, fmt.Errorf("eventlog: record %q: %w", key, err)
	}
	h, _, err := splitBatch(value)
	if err != nil {
		return b, fmt.Errorf("eventlog: record %q: %w", key, err)
	}
	b.at, b.offset, b.sizes = time.Unix(0, h.At).UTC(), h.Offset, h.Sizes
	if h.Key != nil {
		b.key, b.hasKey = *h.Key, true
	}
	return b, nil
}

// Bodies gives the bodies of the events in a batch's record; they share memory.
func Bodies(record []byte) ([][]byte, error) {
	h, rest, err := splitBatch(record)
	if err != nil {
		return nil, fmt.Errorf("eventlog: %w", err)
	}
	bodies := make([][]byte, len(h.Sizes))
	for i, size := range h.Sizes {
		bodies[i], rest = rest[:size:size], rest[size:]
	}
	return bodies, nil
}

// splitBatch divides a batch's record into its header and the bodies, whose sizes
// add up to that.
func splitBatch(value []byte) (h batchHeader, bodies []byte, err error) {
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return h, nil, errors.New("it is cut short")
	}
	if err := json.Unmarshal(value[n:n+int(size)], &h); err != nil {
		return h, nil, err
	}
	bodies = value[n+int(size):]
	left := len(bodies)
	for _, size := range h.Sizes {
		if size < 0 || size > left {
			return h, nil, errors.New("it is cut short")
		}
		left -= size
	}
	if left > 0 || len(h.Sizes) == 0 {
		return h, nil, errors.New("its sizes don't add up")
	}
	return h, bodies, nil
}
