package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// clone returns a snapshot that shares with s nothing that the tests change.
func clone(s scene) scene {
	c := s
	c.Transactions = slices.Clone(s.Transactions)
	for i := range c.Transactions {
		c.Transactions[i] = *c.Transactions[i].Clone()
	}
	c.Packages, c.Bookings = cloneRecords(s.Packages), cloneRecords(s.Bookings)
	c.Assignments, c.Deliveries = cloneRecords(s.Assignments), cloneRecords(s.Deliveries)
	c.Requests, c.Quarantine, c.Accounts = slices.Clone(s.Requests), slices.Clone(s.Quarantine), slices.Clone(s.Accounts)
	c.Drones, c.Queues, c.Ledger = slices.Clone(s.Drones), slices.Clone(s.Queues), slices.Clone(s.Ledger)
	c.Outside = slices.Clone(s.Outside)
	c.Further, c.Answers = slices.Clone(s.Further), maps.Clone(s.Answers)
	for i := range c.Further {
		c.Further[i].Transactions = slices.Clone(c.Further[i].Transactions)
	}
	c.UndoRefused, c.Documents = maps.Clone(s.UndoRefused), slices.Clone(s.Documents)
	return c
}

func cloneRecords[T any](all []record.Record[T]) []record.Record[T] {
	all = slices.Clone(all)
	for i := range all {
		all[i].Journal, all[i].Tombstones = slices.Clone(all[i].Journal), slices.Clone(all[i].Tombstones)
	}
	return all
}

func text(t testing.TB, r Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func replace(s, old, by string) string {
	if !strings.Contains(s, old) {
		panic(s + " has no " + old)
	}
	return strings.Replace(s, old, by, 1)
}

func TestValidSnapshot(t *testing.T) {
	s := valid(t)
	r := check(s)
	if !r.OK() || r.Broken() != 0 {
		t.Errorf("broken:\n%s", text(t, r))
	}
	for _, i := range r.Invariants {
		if i.Checked < 1 {
			t.Errorf("%s: nothing to check", i.Name)
		}
	}
	for _, state := range workflow.States {
		if open := !state.Final() && state != workflow.Stuck; open != (r.States[state] == 0) {
			t.Errorf("%d transactions are %s", r.States[state], state)
		}
	}
	if !slices.Equal(r.Stuck, []string{"stuck"}) || !slices.Equal(r.Unanswered, []string{"unanswered"}) {
		t.Errorf("stuck %v, unanswered %v", r.Stuck, r.Unanswered)
	}
	// What the snapshot is to show, besides.
	if o := transaction(&s, "overtaken").Operations[1]; o.State != workflow.OperationSuperseded {
		t.Errorf("overtaken: %+v", o)
	}
	if p := transaction(&s, "put-back"); p.Revision != 3 || p.Operations[1].State != workflow.OperationRefused {
		t.Errorf("put-back: revision %d, %+v", p.Revision, p.Operations[1])
	}
	for id, revisions := range map[string][3]int{ // of the drone's step, its effect and the delivery's
		"left": {2, 2, 1}, "left-before": {2, 2, 1}, "left-and-changed": {2, 2, 4}, "left-unknown": {1, 2, 1},
	} {
		p, a, d := transaction(&s, id), recordOf(s.Assignments, id), recordOf(s.Deliveries, id)
		if got := [3]int{p.Step("drone").Revision, a.Revision, d.Revision}; got != revisions || !left(p) {
			t.Errorf("%s: revisions %v, %q", id, got, p.Reason)
		}
	}
	if len(s.Outside) != 3 || s.Outside[0].Reason != workflow.NotYours || notTaken(&s).Reason == workflow.NotYours {
		t.Errorf("outside: %+v", s.Outside)
	}
	if p := transaction(&s, "answers-lost"); p.Step("drone").Attempts < 2 {
		t.Errorf("answers-lost: %+v", p.Step("drone"))
	}
	if j := recordOf(s.Packages, "p-shared").Journal; len(j) != 3 || j[0].TransactionID == j[2].TransactionID {
		t.Errorf("p-shared: %+v", j)
	}
	if b := recordOf(s.Bookings, "far"); !b.Content.Required {
		t.Errorf("far: %+v", b)
	}
	if d := droneOf(&s, "flying-0"); len(d.Holds) == 0 {
		t.Errorf("flying-0 is not in the air: %+v", d)
	}
}

// Ensure each rule catches everything that it is there for, and names it.
func TestBrokenSnapshots(t *testing.T) {
	for _, b := range breakages {
		t.Run(strings.Join([]string{b.rule, b.what, b.id, b.about}, "/"), func(t *testing.T) {
			s := valid(t)
			b.do(&s)
			r := check(s)
			if r.OK() {
				t.Fatal("nothing is broken")
			}
			i := slices.IndexFunc(r.Invariants, func(i Invariant) bool { return i.Name == b.rule })
			if !slices.ContainsFunc(r.Invariants[i].Violations, func(v trial.Violation) bool { return v.ID == b.id && v.What == b.what && v.Detail != "" }) {
				t.Errorf("%s has no violation %q of %s:\n%s", b.rule, b.what, b.id, text(t, r))
			}
			if !slices.ContainsFunc(r.Stories, func(s Story) bool { return s.ID == b.id }) {
				t.Errorf("no story of %s:\n%s", b.id, text(t, r))
			}
		})
	}
}

// Ensure one that is broken, or has nothing to check, does not hide the others.
func TestEveryOneIsFound(t *testing.T) {
	for _, tt := range []struct {
		rule, what string
		do         func(*scene) (broken int)
	}{
		{"accepted", "lost", func(s *scene) int { s.Transactions = nil; return 46 }},
		{"history", "history", func(s *scene) int {
			for i := range s.Transactions {
				s.Transactions[i].History = nil
			}
			return len(s.Transactions)
		}},
		{"requests", "request", func(s *scene) int {
			for i := range s.Requests {
				s.Requests[i].Hash = ""
			}
			return 2 // of a cancel there is nothing to compare
		}},
		{"undone", "half done", func(s *scene) int {
			transaction(s, "answers-lost").State = workflow.Running // the first: one to pass over
			undone := 0
			for i := range s.Transactions {
				p := &s.Transactions[i]
				for j := range p.Steps {
					if p.Steps[j].State == workflow.StepUndone {
						p.Steps[j].State = workflow.StepSucceeded
						undone++
					}
				}
			}
			return undone
		}},
		{"owned", "orphan", func(s *scene) int {
			s.Transactions = nil
			return len(s.Bookings) + len(s.Assignments) + len(s.Deliveries) + len(s.Packages) + 1 // p-shared has had two
		}},
		{"carrier", "carrier", func(s *scene) int {
			live := 0
			for i := range s.Bookings {
				s.Bookings[i].Content.DistanceKm++
				if s.Bookings[i].Live() {
					live++
				}
			}
			return live
		}},
		{"drones", "no drone", func(s *scene) int {
			s.Drones = nil
			flown := 0
			for _, a := range s.Assignments {
				if a.Content.DroneID != "" {
					flown++
				}
			}
			return flown
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := valid(t)
			want := tt.do(&s)
			r := check(s)
			i := slices.IndexFunc(r.Invariants, func(i Invariant) bool { return i.Name == tt.rule })
			got := 0
			for _, v := range r.Invariants[i].Violations {
				if v.What == tt.what {
					got++
				}
			}
			if got != want {
				t.Errorf("%d are %s, want %d:\n%s", got, tt.what, want, text(t, r))
			}
		})
	}
}

// Ensure two drones for one package are found as they came about: the first one
// flies, its client cancels, everything is undone by the book, and the next
// order for the package gets a drone of its own. Nothing else is wrong.
func TestTwoDronesForOnePackage(t *testing.T) {
	s := valid(t)
	pickedUpBeforeTheUndo(recordOf(s.Assignments, "first-owner"))
	// The second owner's pickup stays behind the first one's.
	var broken []string
	for _, i := range check(s).Invariants {
		for _, v := range i.Violations {
			broken = append(broken, i.Name+" "+v.What+" "+v.ID)
		}
	}
	if !slices.Equal(broken, []string{"packages two drones second-owner", "grounded undone in the air first-owner", "grounded package let go first-owner"}) {
		t.Errorf("broken: %v", broken)
	}
}

// Ensure what nothing is said of is not judged: a request that was never
// answered, a body that its client has forgotten, notices that nobody wants.
func TestNotJudged(t *testing.T) {
	for name, do := range map[string]func(*scene){
		"another delivery answered": func(s *scene) {
			s.Ledger = append(s.Ledger, LedgerEntry{TransactionID: "never-answered", OperationID: "op-9", Kind: workflow.OperationCancel})
			s.Transactions = append(s.Transactions, *transaction(s, "cancelled-first"))
			p := &s.Transactions[len(s.Transactions)-1]
			p.ID, p.Operations = "never-answered", slices.Clone(p.Operations[1:])
			p.Operations[0].ID = "op-9"
			s.Answers[p.ID] = p.State
		},
		"forgotten bodies": func(s *scene) {
			for i := range s.Ledger {
				s.Ledger[i].Body = nil
			}
		},
		"forgotten change": func(s *scene) {
			found(s.Ledger, func(e *LedgerEntry) bool { return e.TransactionID == "moved" && e.Kind == workflow.OperationReschedule }).Body = nil
		},
		"repeat without its body": func(s *scene) {
			again := *found(s.Ledger, func(e *LedgerEntry) bool { return e.TransactionID == "keyed" })
			again.Body = nil
			s.Ledger = append(s.Ledger, again)
		},
		"a cancel after the pickup":     func(s *scene) { takeBack(s, "far") },
		"stuck in the air":              stickInTheAir,
		"a tombstone beside its record": func(s *scene) { moveTombstone(s, "p-shared", "first-owner") },
		"a tombstone that is being moved": func(s *scene) {
			stones := slices.Clone(recordOf(s.Packages, "p-shared").Tombstones)
			moveTombstone(s, "p-shared", "first-owner")
			recordOf(s.Packages, "p-shared").Tombstones = stones
		},
		"no room for a change": func(s *scene) {
			makeRoom(s, 3, workflow.OperationReschedule, json.RawMessage(aChange)).Operations[2].Bytes = workflow.MaxChangeBytes - 10
		},
		"a change of which nobody knows the size": func(s *scene) { makeRoom(s, 3, workflow.OperationReschedule, nil) },
		"strangers took the room": func(s *scene) {
			makeRoom(s, 11, workflow.OperationCancel, nil).Caller = "ada"
			notTaken(s).Caller = "ada"
			for i := range 40 {
				o := *notTaken(s)
				o.OperationID = fmt.Sprint("op-stranger-", i)
				o.ID, o.Caller, o.Reason = workflow.OutsideID(o.OperationID), "eve", workflow.NotYours
				s.Outside = append(s.Outside, o)
			}
		},
		"nobody is told": func(s *scene) {
			s.Notifications = false
			transaction(s, "far").Outbox.Count = 7
		},
		"poison sent twice": func(s *scene) {
			again := s.Quarantine[0]
			again.ID = "hub.0.9"
			s.Quarantine = append(s.Quarantine, again)
		},
		"held longer after a change": func(s *scene) {
			flight := recordOf(s.Assignments, "flying-0")
			change := record.JournalEntry{Change: record.Changed, Revision: 2}
			journal(flight, change)
			flight.Revision = 2
			journal(recordOf(s.Deliveries, "flying-0"), change)
			recordOf(s.Deliveries, "flying-0").Revision = 2
			p := transaction(s, "flying-0")
			p.Step("drone").Revision, p.Step("delivery").Revision, p.Revision = 2, 2, 2
			p.Operations = append(p.Operations, workflow.OperationRecord{ID: "op-x", Kind: workflow.OperationReschedule,
				State: workflow.OperationApplied, Revision: 2, EndedAt: p.EndedAt})
			hold(s, "flying-0", func(h *drone.Hold) { h.Until++ })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := valid(t)
			do(&s)
			if r := check(s); !r.OK() {
				t.Errorf("broken:\n%s", text(t, r))
			}
		})
	}
}

// BenchmarkCheck tells the cost of a transaction, with all that belongs to it.
func BenchmarkCheck(b *testing.B) {
	s := valid(b)
	for b.Loop() {
		if !check(s).OK() {
			b.Fatal("broken")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(s.Transactions)), "µs/transaction")
}
