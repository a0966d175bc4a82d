// Package recordtest is a record.Store in memory for tests, with faults.
package recordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Op is an operation of a store.
type Op string

// The operations.
const (
	Read    Op = "read"
	Create  Op = "create"
	Replace Op = "replace"
	Page    Op = "page"
)

// Fault is what goes wrong with an operation.
type Fault int

// The faults. Conflict is for writes only.
const (
	None     Fault = iota
	Fail           // it is not made, the error is transient
	Lost           // it is made, the error is transient all the same
	Conflict       // it is not made, another was quicker
)

// errInjected is the cause of an injected transient error.
var errInjected = errors.New("injected")

// Memory is a record.Store that keeps its documents as JSON, as a database
// would: nobody shares memory with it. It is safe for concurrent use.
type Memory[T any] struct {
	// Before is called before every operation, without a lock held, so that it
	// may use the store itself. Nil means no faults. Set it before use.
	Before func(op Op, id string) Fault
	// PageSize is the greatest number of documents in a page. 0 means 2.
	PageSize int

	mu     sync.Mutex
	docs   map[string]stored
	etag   int
	writes int
}

type stored struct {
	data []byte
	etag string
}

// Read implements record.Store.
func (m *Memory[T]) Read(ctx context.Context, id string) (doc T, etag string, err error) {
	err = m.do(ctx, Read, id, func() error {
		s, ok := m.docs[id]
		if !ok {
			return failure.New(failure.NotFound, "read", id, nil)
		}
		etag = s.etag
		return json.Unmarshal(s.data, &doc)
	})
	if err != nil {
		return *new(T), "", err
	}
	return doc, etag, nil
}

// Create implements record.Store.
func (m *Memory[T]) Create(ctx context.Context, id string, doc T) (etag string, err error) {
	err = m.do(ctx, Create, id, func() error {
		if _, ok := m.docs[id]; ok {
			return failure.New(failure.Conflict, "create", id, nil)
		}
		etag, err = m.put(id, doc)
		return err
	})
	return etag, err
}

// Replace implements record.Store.
func (m *Memory[T]) Replace(ctx context.Context, id string, doc T, etag string) (newETag string, err error) {
	err = m.do(ctx, Replace, id, func() error {
		switch s, ok := m.docs[id]; {
		case !ok:
			return failure.New(failure.NotFound, "replace", id, nil)
		case s.etag != etag:
			return failure.New(failure.Conflict, "replace", id, nil)
		}
		newETag, err = m.put(id, doc)
		return err
	})
	return newETag, err
}

// Page implements record.Store. The first page is empty, as a database's may
// be.
func (m *Memory[T]) Page(ctx context.Context, field, value, continuation string) (docs []T, next string, err error) {
	err = m.do(ctx, Page, value, func() error {
		all, err := m.matching(func(fields map[string]any) bool { return fields[field] == value })
		if err != nil {
			return err
		}
		docs, next, err = Cut(all, m.PageSize, continuation)
		return err
	})
	return docs, next, err
}

// Cut returns the page of items that a continuation stands for, the first one
// empty, each of up to size (0 means 2).
func Cut[E any](items []E, size int, continuation string) (page []E, next string, err error) {
	if size == 0 {
		size = 2
	}
	if continuation == "" {
		return nil, "0", nil
	}
	start, err := strconv.Atoi(continuation)
	if err != nil || start < 0 || start > len(items) {
		return nil, "", failure.New(failure.Invalid, "page", continuation, err)
	}
	end := min(start+size, len(items))
	if end < len(items) {
		next = strconv.Itoa(end)
	}
	return items[start:end], next, nil
}

// All returns all documents by id, without faults.
func (m *Memory[T]) All() (map[string]T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]T, len(m.docs))
	for id, s := range m.docs {
		var doc T
		if err := json.Unmarshal(s.data, &doc); err != nil {
			return nil, fmt.Errorf("decode %s: %w", id, err)
		}
		all[id] = doc
	}
	return all, nil
}

// Writes returns how many writes were made.
func (m *Memory[T]) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// matching returns the documents whose top-level fields match, by id.
func (m *Memory[T]) matching(match func(map[string]any) bool) ([]T, error) {
	ids := make([]string, 0, len(m.docs))
	for id := range m.docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out []T
	for _, id := range ids {
		var fields map[string]any
		var doc T
		if err := errors.Join(json.Unmarshal(m.docs[id].data, &fields), json.Unmarshal(m.docs[id].data, &doc)); err != nil {
			return nil, fmt.Errorf("decode %s: %w", id, err)
		}
		if match(fields) {
			out = append(out, doc)
		}
	}
	return out, nil
}

func (m *Memory[T]) do(ctx context.Context, op Op, id string, work func() error) error {
	if err := ctx.Err(); err != nil {
		return failure.New(failure.Transient, string(op), id, err)
	}
	fault := None
	if m.Before != nil {
		fault = m.Before(op, id)
	}
	switch fault {
	case Fail:
		return failure.New(failure.Transient, string(op), id, errInjected)
	case Conflict:
		return failure.New(failure.Conflict, string(op), id, errInjected)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := work()
	if fault == Lost && err == nil {
		return failure.New(failure.Transient, string(op), id, errInjected)
	}
	return err
}

func (m *Memory[T]) put(id string, doc T) (string, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", id, err)
	}
	if m.docs == nil {
		m.docs = map[string]stored{}
	}
	m.etag++
	m.writes++
	etag := strconv.Itoa(m.etag)
	m.docs[id] = stored{data, etag}
	return etag, nil
}
