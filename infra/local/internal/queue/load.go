package queue

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Load makes a queue from the records that its Changes left, in any order. The
// queue doesn't keep their values. Nothing is judged by time until the next operation.
func Load(cfg Config, records iter.Seq2[string, []byte]) (*Queue, error) {
	q := New(cfg)
	l := loader{entries: make(map[int64]*entry), states: make(map[int64][]byte)}
	for key, value := range records {
		if err := l.take(q, key, value); err != nil {
			return nil, err
		}
	}
	for id, value := range l.states {
		e, ok := l.entries[id]
		if !ok {
			return nil, fmt.Errorf("queue: state without content of message %d", id)
		}
		if err := e.applyState(value); err != nil {
			return nil, err
		}
	}
	for _, e := range l.entries {
		q.attach(e)
		q.last = max(q.last, e.seq, e.id)
	}
	slices.SortFunc(l.seen, func(a, b seenID) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	for _, s := range l.seen {
		if e := l.entries[s.seq]; e != nil && e.name == s.id {
			s.id = e.name // one text in memory for both
		}
		q.seen.add(s.id, s.sighting)
	}
	return q, nil
}

// loader gathers records until a message's two records are both there.
type loader struct {
	entries map[int64]*entry
	states  map[int64][]byte
	seen    []seenID
}

type seenID struct {
	id string
	sighting
}

func (l *loader) take(q *Queue, key string, value []byte) error {
	switch {
	case key == lastKey:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return fmt.Errorf("queue: the last sequence number: %w", err)
		}
		q.last = max(q.last, n)
	case strings.HasPrefix(key, contentPrefix):
		id, err := parseID(key, contentPrefix)
		if err != nil {
			return err
		}
		if l.entries[id], err = parseContent(id, value); err != nil {
			return err
		}
	case strings.HasPrefix(key, statePrefix):
		id, err := parseID(key, statePrefix)
		if err != nil {
			return err
		}
		l.states[id] = value
	case strings.HasPrefix(key, sightingPrefix):
		s, err := parseSighting(value)
		if err != nil {
			return err
		}
		l.seen = append(l.seen, seenID{strings.TrimPrefix(key, sightingPrefix), s})
	default:
		return fmt.Errorf("queue: unknown record %q", key)
	}
	return nil
}
