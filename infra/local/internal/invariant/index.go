package invariant

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// index is a snapshot with what the rules look for in it.
type index struct {
	*Subject
	*Snapshot
	definition workflow.Definition

	transactions map[string]*workflow.Progress
	ids          []string                           // of the transactions, sorted
	calls        map[place]workflow.Call            // by step and transaction; see call
	ledger       map[string]map[string]*LedgerEntry // by transaction and operation
	effects      []*effect
	byID         map[place]*effect // by step and document
	beside       []beside
	live         map[place][]*effect                   // by step and transaction
	outside      map[string]*workflow.OutsideOperation // by operation
	quarantined  map[string]bool                       // the operations that have ended there
	traces       map[place][]record.JournalEntry       // by step and transaction
}

// place is where an effect is looked for: a step, and the id of a document or of
// a transaction.
type place struct{ step, id string }

// effect is a record of a step.
type effect struct {
	place
	record.Record[json.RawMessage]
	// asked is the hash of what the stored content asks for; the record's own if
	// nobody knows.
	asked string
}

// beside is a document beside a record, with a tombstone that the record has no
// room for. Its tombstone counts as the record's.
type beside struct {
	of  place  // the record
	doc string // its own id
	ttl int    // seconds
}

func (e *effect) String() string { return e.step + " " + e.id }

func newIndex(subject *Subject, s *Snapshot) *index {
	x := &index{
		Subject: subject, Snapshot: s, definition: subject.business.Workflow,
		transactions: byKey(s.Transactions, func(p *workflow.Progress) string { return p.ID }),
		calls:        map[place]workflow.Call{},
		ledger:       map[string]map[string]*LedgerEntry{},
		byID:         map[place]*effect{}, live: map[place][]*effect{}, traces: map[place][]record.JournalEntry{},
		outside: byKey(s.Outside, func(o *workflow.OutsideOperation) string { return o.OperationID }),
	}
	x.ids = slices.Sorted(maps.Keys(x.transactions))
	for i := range s.Ledger {
		e := &s.Ledger[i]
		if x.ledger[e.TransactionID] == nil {
			x.ledger[e.TransactionID] = map[string]*LedgerEntry{}
		}
		if known := x.ledger[e.TransactionID][e.OperationID]; known == nil || known.Body == nil {
			x.ledger[e.TransactionID][e.OperationID] = e
		}
	}
	x.quarantined = x.endedInQuarantine()
	for i := range subject.effects {
		x.addEffects(&subject.effects[i])
	}
	return x
}

func byKey[K comparable, V any](all []V, key func(*V) K) map[K]*V {
	found := make(map[K]*V, len(all))
	for i := range all {
		found[key(&all[i])] = &all[i]
	}
	return found
}

// addEffects takes the records of a step's container into the index.
func (x *index) addEffects(of *effectful) {
	step, records := of.Name, x.Records[of.Container]
	for i := range records {
		if _, isBeside := record.BesideOf(records[i].ID); isBeside {
			continue
		}
		e := &effect{place: place{step, records[i].ID}, Record: records[i], asked: of.asked(&records[i])}
		x.effects = append(x.effects, e)
		x.byID[e.place] = e
		if e.Live() {
			owner := place{step, e.TransactionID}
			x.live[owner] = append(x.live[owner], e)
		}
		for _, entry := range e.Journal {
			by := place{step, entry.TransactionID}
			x.traces[by] = append(x.traces[by], entry)
		}
	}
	for i := range records {
		of, isBeside := record.BesideOf(records[i].ID)
		if !isBeside {
			continue
		}
		b := beside{place{step, of}, records[i].ID, records[i].TTL}
		x.beside = append(x.beside, b)
		for _, stone := range records[i].Tombstones {
			// One that is in both places was being moved when its process died.
			if e := x.byID[b.of]; e != nil && !e.buried(stone.TransactionID) {
				e.Tombstones = append(slices.Clip(e.Tombstones), stone)
			}
		}
	}
}

// asked returns the hash of what the content of a live record asks for.
func (of *effectful) asked(r *record.Record[json.RawMessage]) string {
	if of.Ask == nil || !r.Live() {
		return r.Hash
	}
	ask, err := of.Ask(r.Content)
	if err != nil {
		return "no hash: " + err.Error()
	}
	return hashOf(ask)
}

// effectOf returns the step's of that name with its effect, nil if it has none.
func (x *index) effectOf(step string) *effectful {
	for i := range x.Subject.effects {
		if e := &x.Subject.effects[i]; e.Name == step {
			return e
		}
	}
	return nil
}

// hashOf is record.Hash of a content that was decoded from JSON, and can be
// encoded again.
func hashOf(content any) string {
	hash, err := record.Hash(content)
	if err != nil {
		return "no hash: " + err.Error()
	}
	return hash
}

// call returns the call that a step would make now. It is made once: several
// rules look at it.
func (x *index) call(p *workflow.Progress, step string) workflow.Call {
	at := place{step, p.ID}
	call, made := x.calls[at]
	if !made {
		call = x.definition.CallOf(p, step)
		x.calls[at] = call
	}
	return call
}

// target returns where a transaction's effect of a step is: the last segment of
// the call's path.
func target(call workflow.Call, step string) place {
	id := call.Path[strings.LastIndexByte(call.Path, '/')+1:]
	if plain, err := url.PathUnescape(id); err == nil { // no document has the id of another one
		id = plain
	}
	return place{step, id}
}

// states counts the transactions by their state.
func (x *index) states() map[workflow.State]int {
	states := map[workflow.State]int{}
	for _, p := range x.transactions {
		states[p.State]++
	}
	return states
}

// unanswered returns the transactions that are in no client's ledger.
func (x *index) unanswered() []string {
	ids := []string{}
	for _, id := range x.ids {
		if x.ledger[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// excused reports whether p may be unfinished for good: Stuck because of an
// injected fault or because the world has finished what it began, or given up by
// an operator.
func (x *index) excused(p *workflow.Progress) bool {
	switch p.State {
	case workflow.Stuck:
		return x.UndoRefused[p.ID] || x.irrevocable(p)
	case workflow.GivenUp:
		return slices.ContainsFunc(p.History, func(e workflow.StateChange) bool {
			return e.Transition == workflow.TransitionGiveUp && e.By != ""
		})
	}
	return false
}

func (x *index) excusedIDs() []string {
	ids := []string{}
	for _, id := range x.ids {
		if p := x.transactions[id]; p.State == workflow.Stuck && x.excused(p) {
			ids = append(ids, id)
		}
	}
	return ids
}

// irrevocable reports whether the undo of a transaction was refused for good since
// the world has finished what a pivot began: no fault has to be to blame.
func (x *index) irrevocable(p *workflow.Progress) bool {
	for _, of := range x.Subject.effects {
		s, live := p.Step(of.Name), x.live[place{of.Name, p.ID}]
		if !of.Pivot || s == nil || s.UndoError == nil || s.UndoError.Type != record.CannotUndo.ID || len(live) != 1 {
			continue
		}
		if of.World == nil {
			return true
		}
		if _, said := of.World(live[0].Content); said {
			return true
		}
	}
	return false
}

// PivotsMeanwhile counts the transactions for which the world did what can't be
// undone while the client's cancel or change was on its way: it was accepted before,
// and has ended after. They are what the rules are hardest for.
func (subject *Subject) PivotsMeanwhile(s *Snapshot) int {
	done := map[string]time.Time{}
	for _, of := range subject.effects {
		for _, r := range s.Records[of.Container] {
			if of.World == nil {
				break
			}
			if at, _ := of.World(r.Content); !at.IsZero() {
				done[cmp.Or(r.TransactionID, r.ID)] = at
			}
		}
	}
	n := 0
	for i := range s.Transactions {
		p := &s.Transactions[i]
		at, ok := done[p.ID]
		for _, o := range p.Operations {
			if ok && o.Kind != workflow.OperationStart && o.AcceptedAt.Before(at) && o.EndedAt.After(at) {
				n++
				break
			}
		}
	}
	return n
}
