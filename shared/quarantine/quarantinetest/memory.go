// Package quarantinetest serves tests of the quarantine: a Store in memory
// whose effects can fail on demand, and the conformance suite for
// implementations of Store.
//
// Not emulated: the expiry of entries (TTL).
package quarantinetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Memory is a quarantine.Store in memory. Its effects are "put entry <id>" and
// "replace entry <id>"; reads fail with "read entry <id>" and "page of entries".
// It is safe for concurrent use.
type Memory struct {
	Gate *workflowtest.Gate
	// BeforeReplace, when set, is called before each Replace, without a lock
	// held: others can change the entry there.
	BeforeReplace func(id string)
	Limit         int // of a body, in characters; a larger one is refused. 0 for none
	PageSize      int // 0 means 3

	mu     sync.Mutex
	kept   map[string]stored // by source and id
	writes int
}

type stored struct {
	doc  []byte
	etag string
}

var _ quarantine.Store = (*Memory)(nil)

// NewMemory returns an empty store whose effects g decides on; nil lets all
// pass.
func NewMemory(g *workflowtest.Gate) *Memory {
	if g == nil {
		g = &workflowtest.Gate{}
	}
	return &Memory{Gate: g, kept: map[string]stored{}}
}

func key(source, id string) string { return source + "/" + id }

// Put stores an entry unless it is there already.
func (m *Memory) Put(ctx context.Context, e quarantine.Entry) error {
	return m.write(ctx, "put entry", e, func(_ stored, exists bool) (bool, error) { return !exists, nil })
}

// Replace stores an entry in place of the one with that ETag.
func (m *Memory) Replace(ctx context.Context, e quarantine.Entry, etag string) error {
	if m.BeforeReplace != nil {
		m.BeforeReplace(e.ID)
	}
	return m.write(ctx, "replace entry", e, func(old stored, exists bool) (bool, error) {
		switch {
		case !exists:
			return false, failure.New(failure.NotFound, "replace entry", e.ID, nil)
		case old.etag != etag:
			return false, failure.New(failure.Conflict, "replace entry", e.ID, fmt.Errorf("its ETag is %s, not %s", old.etag, etag))
		}
		return true, nil
	})
}

func (m *Memory) write(ctx context.Context, op string, e quarantine.Entry, allowed func(stored, bool) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return failure.New(failure.Transient, op, e.ID, err)
	}
	if m.Limit > 0 && len(e.Body) > m.Limit {
		return failure.New(failure.Invalid, op, e.ID, errors.New("it is too large"))
	}
	doc, err := json.Marshal(e)
	if err != nil {
		return failure.New(failure.Permanent, op, e.ID, err)
	}
	fate, lost := m.Gate.Ask(op + " " + e.ID)
	if fate == workflowtest.Refuse {
		return lost
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.kept[key(e.Source, e.ID)]
	ok, err := allowed(old, exists)
	if err != nil {
		return err
	}
	if ok {
		m.writes++
		m.kept[key(e.Source, e.ID)] = stored{doc, strconv.Quote(strconv.Itoa(m.writes))}
	}
	return lost
}

// Read returns an entry and its ETag.
func (m *Memory) Read(ctx context.Context, source, id string) (quarantine.Entry, string, error) {
	if err := ctx.Err(); err != nil {
		return quarantine.Entry{}, "", failure.New(failure.Transient, "read entry", id, err)
	}
	if _, err := m.Gate.Ask("read entry " + id); err != nil {
		return quarantine.Entry{}, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.kept[key(source, id)]
	if !ok {
		return quarantine.Entry{}, "", failure.New(failure.NotFound, "read entry", id, nil)
	}
	return decode(found), found.etag, nil
}

// Page returns a page of entries. The first is empty and has a continuation, as
// Cosmos DB's may.
func (m *Memory) Page(ctx context.Context, f quarantine.Filter, continuation string) ([]quarantine.Entry, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", failure.New(failure.Transient, "page of entries", "", err)
	}
	if _, err := m.Gate.Ask("page of entries"); err != nil {
		return nil, "", err
	}
	after, ok := strings.CutPrefix(continuation, "after:")
	switch {
	case continuation == "":
		return nil, "after:", nil
	case !ok:
		return nil, "", failure.New(failure.Invalid, "page of entries", "", errors.New("not a continuation"))
	}
	size := m.PageSize
	if size == 0 {
		size = 3
	}
	page := []quarantine.Entry{}
	last := ""
	for _, e := range m.All() {
		at := key(e.Source, e.ID)
		if at <= after || !selects(f, e) {
			continue
		}
		if len(page) == size {
			return page, "after:" + last, nil
		}
		if f.WithoutBodies {
			e.Body, e.Encoding, e.Properties = "", "", nil
		}
		page, last = append(page, e), at
	}
	return page, "", nil
}

func selects(f quarantine.Filter, e quarantine.Entry) bool {
	return (f.Source == "" || f.Source == e.Source) && (f.Reason == "" || f.Reason == e.Reason) &&
		(f.TransactionID == "" || f.TransactionID == e.TransactionID) && (f.State == "" || f.State == e.State)
}

// All returns all entries, by source and id, without asking the gate.
func (m *Memory) All() []quarantine.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]quarantine.Entry, 0, len(m.kept))
	for _, e := range m.kept {
		all = append(all, decode(e))
	}
	slices.SortFunc(all, func(a, b quarantine.Entry) int {
		return strings.Compare(key(a.Source, a.ID), key(b.Source, b.ID))
	})
	return all
}

// decode reads what this store wrote.
func decode(s stored) quarantine.Entry {
	var e quarantine.Entry
	if err := json.Unmarshal(s.doc, &e); err != nil {
		panic(fmt.Sprintf("stored entry: %v", err))
	}
	return e
}
