package queue

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Change is what an operation did to the records, in order.
type Change []Record

// A Record is one entry to keep under Key; a nil Value means to delete it. The
// keys are relative to the queue. The value is not used by the queue again.
type Record struct {
	Key   string
	Value []byte
}

// The records of a queue. A message has a content record, written once, and a
// state record, which is absent as long as the message is as it was enqueued.
const (
	contentPrefix  = "content/"
	statePrefix    = "state/"
	sightingPrefix = "seen/"
	lastKey        = "last" // the last sequence number given
)

// contentHeader goes before the body in a content record.
type contentHeader struct {
	ID       string        `json:"id"`
	TTL      time.Duration `json:"ttl,omitempty"`
	Enqueued int64         `json:"enqueued"` // ns since 1970
}

type stateRecord struct {
	Seq         int64      `json:"seq"`
	Sub         Sub        `json:"sub,omitempty"`
	State       State      `json:"state,omitempty"`
	Count       uint32     `json:"count,omitempty"`
	Token       []byte     `json:"token,omitempty"`
	Until       int64      `json:"until,omitempty"` // ns since 1970
	Properties  Properties `json:"properties,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Description string     `json:"description,omitempty"`
}

func recordKey(prefix string, id int64) string {
	s := strconv.FormatInt(id, 16)
	return prefix + "0000000000000000"[len(s):] + s
}

func (q *Queue) keep(key string, value []byte) {
	q.change = append(q.change, Record{Key: key, Value: value})
}

func (q *Queue) keepContent(e *entry, body []byte) {
	head := mustJSON(contentHeader{ID: e.name, TTL: e.ttl, Enqueued: e.enqueued})
	value := make([]byte, 0, binary.MaxVarintLen64+len(head)+len(body))
	value = binary.AppendUvarint(value, uint64(len(head)))
	value = append(append(value, head...), body...)
	q.keep(recordKey(contentPrefix, e.id), value)
}

func (q *Queue) keepState(e *entry) {
	s := stateRecord{
		Seq: e.seq, Sub: e.sub, State: e.state, Count: e.count, Properties: e.props, Until: e.until,
	}
	if e.reason != nil {
		s.Reason, s.Description = e.reason.Reason, e.reason.Description
	}
	if e.isLocked() {
		s.Token = e.token[:]
	}
	q.keep(recordKey(statePrefix, e.id), mustJSON(s))
}

func (q *Queue) dropRecords(e *entry) {
	q.keep(recordKey(contentPrefix, e.id), nil)
	q.keep(recordKey(statePrefix, e.id), nil)
}

func (q *Queue) keepSighting(id string, s sighting) {
	value := binary.AppendVarint(nil, s.at)
	q.keep(sightingPrefix+id, binary.AppendVarint(value, s.seq))
}

func (q *Queue) dropSighting(id string) { q.keep(sightingPrefix+id, nil) }

func (q *Queue) keepLast() { q.keep(lastKey, strconv.AppendInt(nil, q.last, 10)) }

// mustJSON encodes the record types above, which always can be.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("queue: encode a record: %v", err))
	}
	return b
}

func parseID(key, prefix string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(key, prefix), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("queue: record %q: %w", key, err)
	}
	return id, nil
}

// splitContent divides a content record into its header and the body.
func splitContent(value []byte) (head, body []byte, err error) {
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return nil, nil, errors.New("queue: a message's content is cut short")
	}
	return value[n : n+int(size)], value[n+int(size):], nil
}

// Body gives the body that is in a content record; they share memory.
func Body(content []byte) ([]byte, error) {
	_, body, err := splitContent(content)
	return body, err
}

// parseContent makes a fresh entry from its content record.
func parseContent(id int64, value []byte) (*entry, error) {
	text, body, err := splitContent(value)
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", id, err)
	}
	var head contentHeader
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("queue: content of message %d: %w", id, err)
	}
	return &entry{id: id, seq: id, enqueued: head.Enqueued, name: head.ID, ttl: head.TTL, size: int32(len(body))}, nil
}

// applyState sets what a state record says.
func (e *entry) applyState(value []byte) error {
	var s stateRecord
	if err := json.Unmarshal(value, &s); err != nil {
		return fmt.Errorf("queue: state of message %d: %w", e.id, err)
	}
	if s.Sub > DeadLetter || s.State > Scheduled || s.Seq < 1 {
		return fmt.Errorf("queue: state of message %d is out of range", e.id)
	}
	e.seq, e.sub, e.state, e.count, e.props = s.Seq, s.Sub, s.State, s.Count, s.Properties
	if s.Sub == DeadLetter {
		e.reason = &Reason{s.Reason, s.Description}
	}
	if len(s.Token) > 0 {
		if len(s.Token) != len(e.token) {
			return fmt.Errorf("queue: state of message %d has a lock token of %d bytes", e.id, len(s.Token))
		}
		copy(e.token[:], s.Token)
		e.until = s.Until
	}
	return nil
}

func parseSighting(value []byte) (sighting, error) {
	at, n := binary.Varint(value)
	if n <= 0 {
		return sighting{}, errors.New("queue: a remembered message id is cut short")
	}
	seq, m := binary.Varint(value[n:])
	if m <= 0 {
		return sighting{}, errors.New("queue: a remembered message id is cut short")
	}
	return sighting{at: at, seq: seq}, nil
}
