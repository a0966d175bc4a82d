package invariant

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// index is a snapshot with what the rules look for in it.
type index struct {
	*Snapshot
	definition workflow.Definition
	// effectful are the names of the steps that have an effect.
	effectful []string

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
	traces       map[place][]record.Entry              // by step and transaction
	accounts     map[string]*account.Account           // by id
	drones       map[drone.Candidate]*drone.Drone
	assignments  map[string]*record.Record[drone.Assignment]
	bookings     map[string]*record.Record[transportation.Booking]
	deliveries   map[string]*record.Record[deliveries.Content]
}

// place is where an effect is looked for: a step, and the id of a document or of
// a transaction.
type place struct{ step, id string }

// effect is a record whatever its content is.
type effect struct {
	place
	record.Record[struct{}]
	// asked is the hash of what the stored content asks for.
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

func newIndex(s *Snapshot) *index {
	x := &index{
		Snapshot: s, definition: delivery.Steps(),
		transactions: make(map[string]*workflow.Progress, len(s.Transactions)),
		calls:        map[place]workflow.Call{},
		ledger:       map[string]map[string]*LedgerEntry{},
		byID:         map[place]*effect{}, live: map[place][]*effect{}, traces: map[place][]record.Entry{},
		accounts: byKey(s.Accounts, func(a *account.Account) string { return a.ID }),
		outside:  byKey(s.Outside, func(o *workflow.OutsideOperation) string { return o.OperationID }),
		drones:   byKey(s.Drones, func(d *drone.Drone) drone.Candidate { return drone.Candidate{DroneID: d.ID, Zone: d.Zone} }),
	}
	for _, step := range x.definition.Steps {
		if step.Undo != nil {
			x.effectful = append(x.effectful, step.Name)
		}
	}
	for i := range s.Transactions {
		x.transactions[s.Transactions[i].ID] = &s.Transactions[i]
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
	addEffects(x, delivery.StepPackage, s.Packages, func(c *parcel.Content) any { return c })
	x.bookings = addEffects(x, delivery.StepTransportation, s.Bookings, func(b *transportation.Booking) any { return b.Ask })
	x.assignments = addEffects(x, delivery.StepDrone, s.Assignments, func(a *drone.Assignment) any { return a.Ask })
	x.deliveries = addEffects(x, delivery.StepDelivery, s.Deliveries, func(c *deliveries.Content) any { return c.Ask })
	return x
}

func byKey[K comparable, V any](all []V, key func(*V) K) map[K]*V {
	found := make(map[K]*V, len(all))
	for i := range all {
		found[key(&all[i])] = &all[i]
	}
	return found
}

// addEffects takes the records of a step's backend into the index, and returns
// them by id. ask is the part of a content that a PUT has asked for.
func addEffects[T any](x *index, step string, records []record.Record[T], ask func(*T) any) map[string]*record.Record[T] {
	for i := range records {
		r := &records[i]
		if _, isBeside := record.BesideOf(r.ID); isBeside {
			continue
		}
		e := &effect{place: place{step, r.ID}, Record: record.Record[struct{}]{
			ID: r.ID, TransactionID: r.TransactionID, Revision: r.Revision, Hash: r.Hash, OwnerID: r.OwnerID,
			Journal: r.Journal, Tombstones: r.Tombstones, TTL: r.TTL,
		}}
		e.asked = hashOf(ask(&r.Content))
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
	return byKey(records, func(r *record.Record[T]) string { return r.ID })
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
		return x.UndoRefused[p.ID] || x.inTheAir(p)
	case workflow.GivenUp:
		return slices.ContainsFunc(p.History, func(e workflow.Entry) bool {
			return e.Event == workflow.EventGiveUp && e.By != ""
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
