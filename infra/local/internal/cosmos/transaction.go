package cosmos

import (
	"fmt"
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

type operationKind string

// The operations on items, by the names that batches call them.
const (
	opCreate  operationKind = "Create"
	opUpsert  operationKind = "Upsert"
	opReplace operationKind = "Replace"
	opRead    operationKind = "Read"
	opDelete  operationKind = "Delete"
	opPatch   operationKind = "Patch"
)

// opTouch is no client's: it writes an item as it is.
const opTouch operationKind = "touch"

// An operation is one thing to do to one item.
type operation struct {
	kind      operationKind
	id        string // of the item; for Create and Upsert the draft's
	draft     draft  // for Create, Upsert and Replace
	patch     *patch // for Patch
	condition condition
}

// An outcome is what came of an operation.
type outcome struct {
	status int
	item   *item // as it is now; nil when it is gone or never was
	text   []byte
	charge float64
	err    error
}

// A transaction applies operations on one partition, all or none. Its range's
// lock is held for its whole life.
type transaction struct {
	server    *Server
	container *container
	keyRange  *keyRange
	partition string
	now       int64
	changes   map[string]change // by id, over what the range has
}

type change struct {
	before *item  // nil: there was none
	after  *item  // nil: deleted
	text   []byte // of after
}

// transact applies the operations to a partition, as one. Unless all succeed
// nothing changes; the outcomes end with the one that failed. It waits until the
// store has what the outcomes tell of. An error means that there are none.
func (s *Server) transact(c *container, partition string, ops []operation) ([]outcome, int64, error) {
	if err := s.race(c, partition, ops); err != nil {
		return nil, 0, err
	}
	r := c.rangeOf(partition)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, 0, errOwnerNotFound()
	}
	t := &transaction{server: s, container: c, keyRange: r, partition: partition, now: s.now().Unix(), changes: make(map[string]change)}
	outcomes, failed := t.applyAll(ops)
	if !failed && len(t.changes) > 0 {
		s.publish(t)
	}
	pending := r.last // a read or a refusal may rest on the latest write
	writes := r.writes
	r.mu.Unlock()
	return outcomes, writes, pending.wait()
}

// read reads one item without excluding other readers.
func (s *Server) read(c *container, key itemKey) (found *item, text []byte, writes int64, err error) {
	r := c.rangeOf(key.partition)
	r.mu.RLock()
	found, last, writes, closed := r.items[key], r.last, r.writes, r.closed
	there := found != nil && !found.expired(c.current.Load().defaultTTL, s.now().Unix())
	if there {
		text, err = s.text(c, found)
	}
	r.mu.RUnlock()
	switch {
	case closed:
		return nil, nil, writes, errOwnerNotFound()
	case err != nil:
		return nil, nil, writes, err
	case !there:
		if err := last.wait(); err != nil {
			return nil, nil, writes, err
		}
		return nil, nil, writes, errNotFound()
	}
	return found, text, writes, found.commit.Load().wait()
}

// text reads the text of an item. Its range's lock is held, so that the store has
// no other version.
func (s *Server) text(c *container, i *item) ([]byte, error) {
	text, err := s.store.Get(c.itemStoreKey(i.sequence))
	if err != nil {
		return nil, fmt.Errorf("read item %s: %w", i.key.id, err)
	}
	return text, nil
}

// publish makes the changes of t visible and hands them to the store. The
// range's lock is held.
func (s *Server) publish(t *transaction) {
	var b store.Batch
	var made []*item
	// What goes comes first: an item with a new id keeps its sequence.
	for _, ch := range t.changes {
		if ch.before != nil && (ch.after == nil || ch.after.sequence != ch.before.sequence) {
			b.Delete(t.container.itemStoreKey(ch.before.sequence))
			t.keyRange.remove(ch.before)
		}
	}
	for _, ch := range t.changes {
		if ch.after != nil {
			b.Put(t.container.itemStoreKey(ch.after.sequence), ch.text)
			t.keyRange.put(ch.after)
			made = append(made, ch.after)
		}
	}
	t.keyRange.writes++
	t.keyRange.last = s.commit(b, made...)
}

func (t *transaction) applyAll(ops []operation) (outcomes []outcome, failed bool) {
	for _, op := range ops {
		o := t.apply(op)
		outcomes = append(outcomes, o)
		if o.err != nil {
			return outcomes, true
		}
	}
	return outcomes, false
}

// apply does one operation on top of those before it.
func (t *transaction) apply(op operation) outcome {
	existing := t.lookup(op.id)
	if existing == nil && op.kind != opCreate && op.kind != opUpsert {
		return outcome{err: errNotFound(), charge: 1}
	}
	switch op.kind {
	case opCreate:
		if existing != nil {
			return outcome{err: errConflict(), charge: 1.24}
		}
		return t.write(op.draft, nil, http.StatusCreated)
	case opRead:
		text, err := t.text(existing)
		return outcome{status: http.StatusOK, item: existing, text: text, charge: readCharge(existing.size), err: err}
	}
	if existing == nil { // Upsert: the condition is on an item that exists
		return t.write(op.draft, nil, http.StatusCreated)
	}
	if err := op.condition.checkWrite(existing.etag()); err != nil {
		return outcome{err: err, charge: 1.24}
	}
	switch op.kind {
	case opDelete:
		t.change(existing.key.id, nil, nil)
		return outcome{status: http.StatusNoContent, charge: createCharge(existing)}
	case opTouch, opPatch:
		d, err := t.edited(op, existing)
		if err != nil {
			return outcome{err: err, charge: 1.24}
		}
		return t.write(d, existing, http.StatusOK)
	}
	return t.write(op.draft, existing, http.StatusOK)
}

// write stores a draft in the place of the existing item, or as a new one. A
// replaced item may get a new id, if that is free.
func (t *transaction) write(d draft, existing *item, status int) outcome {
	var sequence uint64
	if existing != nil {
		sequence = existing.sequence
		if d.key.id != existing.key.id {
			if t.lookup(d.key.id) != nil {
				return outcome{err: errConflict(), charge: 1.24}
			}
		}
	} else {
		sequence = t.container.sequence.Add(1)
	}
	i, text, err := d.store(t.container, sequence, t.now)
	if err != nil {
		return outcome{err: err, charge: 1.24}
	}
	if existing != nil && d.key.id != existing.key.id {
		t.change(existing.key.id, nil, nil)
	}
	t.change(d.key.id, i, text)
	charge := createCharge(i)
	if existing != nil {
		charge = replaceCharge(i)
	}
	return outcome{status: status, item: i, text: text, charge: charge}
}

// edited is what a patch makes of an item, or the item as it is.
func (t *transaction) edited(op operation, existing *item) (draft, error) {
	text, err := t.text(existing)
	if err != nil {
		return draft{}, err
	}
	v, err := sql.Decode(text)
	if err != nil {
		return draft{}, fmt.Errorf("read item %s: %w", existing.key.id, err)
	}
	if op.kind == opTouch {
		return checkDraft(t.container, v)
	}
	return op.patch.apply(t.container, v)
}

// text gives the text of an item as the operations so far leave it.
func (t *transaction) text(i *item) ([]byte, error) {
	if ch, ok := t.changes[i.key.id]; ok {
		return ch.text, nil
	}
	return t.server.text(t.container, i)
}

// lookup gives the item as the operations so far leave it, unless it expired.
func (t *transaction) lookup(id string) *item {
	if ch, ok := t.changes[id]; ok {
		return ch.after
	}
	i := t.keyRange.items[itemKey{t.partition, id}]
	if i == nil || i.expired(t.container.current.Load().defaultTTL, t.now) {
		return nil
	}
	return i
}

func (t *transaction) change(id string, after *item, text []byte) {
	ch, ok := t.changes[id]
	if !ok {
		ch.before = t.keyRange.items[itemKey{t.partition, id}]
	}
	ch.after, ch.text = after, text
	t.changes[id] = ch
}
