package workflowtest

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
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Store is a workflow.Store in memory. Its effects are "create <id>" and
// "replace <id>"; reads fail with "read <id>".
type Store struct {
	Gate *Gate // nil for none
	// BeforeReplace, when set, is called before each Replace, without a lock
	// held: others can change the document there.
	BeforeReplace func(id string)
	PageSize      int // of the overdue; 0 means 3

	mu     sync.Mutex
	docs   map[string]document
	writes int
}

type document struct {
	body []byte
	etag string
}

// NewStore returns an empty store whose effects g decides on; nil lets all pass.
func NewStore(g *Gate) *Store {
	if g == nil {
		g = &Gate{}
	}
	return &Store{Gate: g, docs: map[string]document{}}
}

// Read returns a document.
func (s *Store) Read(ctx context.Context, id string) (*workflow.Progress, string, error) {
	const op = "read transaction"
	if err := ctx.Err(); err != nil {
		return nil, "", failure.New(failure.Transient, op, id, err)
	}
	if _, err := s.Gate.Ask("read " + id); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	doc, ok := s.docs[id]
	if !ok {
		return nil, "", failure.New(failure.NotFound, op, id, nil)
	}
	return decode(id, doc), doc.etag, nil
}

// Create stores a new document.
func (s *Store) Create(ctx context.Context, p *workflow.Progress) (string, error) {
	return s.write(ctx, "create", p, func(_ document, taken bool) error {
		if taken {
			return failure.New(failure.Conflict, "create transaction", p.ID, nil)
		}
		return nil
	})
}

// Replace stores a document in place of the one with that ETag.
func (s *Store) Replace(ctx context.Context, p *workflow.Progress, etag string) (string, error) {
	if s.BeforeReplace != nil {
		s.BeforeReplace(p.ID)
	}
	return s.write(ctx, "replace", p, func(doc document, exists bool) error {
		switch {
		case !exists:
			return failure.New(failure.NotFound, "replace transaction", p.ID, nil)
		case doc.etag != etag:
			return failure.New(failure.Conflict, "replace transaction", p.ID, fmt.Errorf("its ETag is %s, not %s", doc.etag, etag))
		}
		return nil
	})
}

func (s *Store) write(ctx context.Context, op string, p *workflow.Progress, check func(document, bool) error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", failure.New(failure.Transient, op+" transaction", p.ID, err)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return "", failure.New(failure.Invalid, op+" transaction", p.ID, err)
	}
	fate, lost := s.Gate.Ask(op + " " + p.ID)
	if fate == Refuse {
		return "", lost
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.docs[p.ID]
	if err := check(old, exists); err != nil {
		return "", err
	}
	s.writes++
	etag := `"` + strconv.Itoa(s.writes) + `"`
	s.docs[p.ID] = document{body: body, etag: etag}
	return etag, lost
}

// Overdue returns a page of overdue transactions. The first page is empty and
// has a continuation, as Cosmos DB's may.
func (s *Store) Overdue(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	return s.overdue(ctx, before, continuation, func(p *workflow.Progress) workflow.Instant { return p.WakeAt })
}

// OverdueNotices does the same for notices.
func (s *Store) OverdueNotices(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	return s.overdue(ctx, before, continuation, func(p *workflow.Progress) workflow.Instant { return p.Outbox.At })
}

func (s *Store) overdue(ctx context.Context, before workflow.Instant, continuation string, due func(*workflow.Progress) workflow.Instant) ([]string, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", failure.New(failure.Transient, "overdue transactions", "", err)
	}
	after, ok := strings.CutPrefix(continuation, "after ")
	if continuation == "" {
		return nil, "after ", nil
	}
	if !ok {
		return nil, "", failure.New(failure.Invalid, "overdue transactions", continuation, errors.New("not a continuation"))
	}
	size := s.PageSize
	if size == 0 {
		size = 3
	}
	var ids []string
	for _, p := range s.All() {
		if at := due(p); p.ID <= after || at.IsZero() || at.String() >= before.String() {
			continue
		}
		if len(ids) == size {
			return ids, "after " + ids[size-1], nil
		}
		ids = append(ids, p.ID)
	}
	return ids, "", nil
}

// All returns all documents, by id.
func (s *Store) All() []*workflow.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*workflow.Progress, 0, len(s.docs))
	for id, doc := range s.docs {
		all = append(all, decode(id, doc))
	}
	slices.SortFunc(all, func(a, b *workflow.Progress) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// Get returns a document without asking the gate, nil if there is none.
func (s *Store) Get(id string) *workflow.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doc, ok := s.docs[id]; ok {
		return decode(id, doc)
	}
	return nil
}

// decode reads a document that this store wrote.
func decode(id string, doc document) *workflow.Progress {
	var p workflow.Progress
	if err := json.Unmarshal(doc.body, &p); err != nil {
		panic(fmt.Sprintf("document %s: %v", id, err))
	}
	return &p
}

// Change changes a stored document as another process would, with a new ETag
// and without asking the gate.
func (s *Store) Change(id string, change func(*workflow.Progress)) error {
	p := s.Get(id)
	if p == nil {
		return failure.New(failure.NotFound, "change transaction", id, nil)
	}
	change(p)
	body, err := json.Marshal(p)
	if err != nil {
		return failure.New(failure.Invalid, "change transaction", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.docs[id] = document{body: body, etag: `"` + strconv.Itoa(s.writes) + `"`}
	return nil
}

// Writes returns how many writes have taken effect.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}
