package invariant

import (
	"slices"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// corruption makes one thing wrong, somewhere. It reports false for a place at
// which it has nothing to do.
type corruption struct {
	name string
	do   func(s *scene, at int) bool
}

// at returns the element of a slice that a number stands for.
func at[T any](all []T, n int) *T { return &all[n%len(all)] }

// finished reports whether a transaction is not one of those of which something
// may be left.
func finished(id string) bool { return id != "stuck" && id != "given-up" }

// onRecords corrupts a record of any of the backends, tried one after the other
// from that number on.
func onRecords(n int, s *scene, do func(records) bool) bool {
	kinds := []records{
		&recordsOf[parcel.Content]{&s.Packages}, &recordsOf[transportation.Booking]{&s.Bookings},
		&recordsOf[drone.Assignment]{&s.Assignments}, &recordsOf[deliveries.Content]{&s.Deliveries},
	}
	return do(kinds[n%len(kinds)])
}

// records is a container of a backend, whatever its content is.
type records interface {
	// header returns the parts of the nth record that all have.
	header(n int) (owner, id *string, revision *int, hash *string, ttl *int, journal *[]record.JournalEntry, stones *[]record.Tombstone)
	drop(n int)
	double(n int)
}

type recordsOf[T any] struct{ all *[]record.Record[T] }

func (r *recordsOf[T]) header(n int) (owner, id *string, revision *int, hash *string, ttl *int, journal *[]record.JournalEntry, stones *[]record.Tombstone) {
	rec := at(*r.all, n)
	return &rec.TransactionID, &rec.ID, &rec.Revision, &rec.Hash, &rec.TTL, &rec.Journal, &rec.Tombstones
}

func (r *recordsOf[T]) drop(n int) { *r.all = drop(*r.all, at(*r.all, n)) }

func (r *recordsOf[T]) double(n int) {
	second := *at(*r.all, n)
	second.ID += "-2"
	*r.all = append(*r.all, second)
}

var corruptions = []corruption{
	{"drop a transaction", func(s *scene, n int) bool {
		s.Transactions = drop(s.Transactions, at(s.Transactions, n))
		return true
	}},
	{"drop an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, id, _, _, _, _, _ := r.header(n)
			ok := finished(*owner) && finished(*id)
			if ok {
				r.drop(n)
			}
			return ok
		})
	}},
	{"double an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, _, _, _, _, _, _ := r.header(n)
			ok := *owner != "" && finished(*owner)
			if ok {
				r.double(n)
			}
			return ok
		})
	}},
	{"drop a line of a journal", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			_, _, _, _, _, journal, _ := r.header(n)
			if len(*journal) == 0 {
				return false
			}
			*journal = drop(*journal, at(*journal, n))
			return true
		})
	}},
	{"double a line of a journal", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			_, _, _, _, _, journal, _ := r.header(n)
			if len(*journal) == 0 {
				return false
			}
			*journal = slices.Insert(*journal, n%len(*journal), *at(*journal, n))
			return true
		})
	}},
	{"turn a line of a journal into another change", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			_, _, _, _, _, journal, _ := r.header(n)
			if len(*journal) == 0 {
				return false
			}
			changes := []record.Change{record.Created, record.Changed, record.Deleted}
			line := at(*journal, n)
			line.Change = changes[(slices.Index(changes, line.Change)+1+n%2)%3]
			return true
		})
	}},
	{"give an effect to another", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, _, _, _, _, _, _ := r.header(n)
			other := at(s.Transactions, n/7).ID
			ok := *owner != other
			*owner = other
			return ok
		})
	}},
	{"another revision of an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, _, revision, _, _, _, _ := r.header(n)
			*revision++
			return *owner != ""
		})
	}},
	{"another hash of an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, _, _, hash, _, _, _ := r.header(n)
			*hash += "0"
			return *owner != ""
		})
	}},
	{"another lifetime of an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			_, _, _, _, ttl, _, _ := r.header(n)
			*ttl = max(0, 1-*ttl)
			return true
		})
	}},
	{"drop a tombstone", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			_, _, _, _, _, _, stones := r.header(n)
			if len(*stones) == 0 {
				return false
			}
			*stones = drop(*stones, at(*stones, n))
			return true
		})
	}},
	{"bury an effect", func(s *scene, n int) bool {
		return onRecords(n, s, func(r records) bool {
			owner, _, _, _, _, _, stones := r.header(n)
			*stones = append(*stones, record.Tombstone{TransactionID: *owner})
			return *owner != ""
		})
	}},
	{"another weight", func(s *scene, n int) bool { p := at(s.Packages, n); p.Content.WeightKg++; return p.Live() }},
	{"another place", func(s *scene, n int) bool { d := at(s.Deliveries, n); d.Content.DropOff.Latitude++; return d.Live() }},
	{"a carrier or none", func(s *scene, n int) bool {
		b := at(s.Bookings, n)
		b.Content.Required = !b.Content.Required
		return b.Live()
	}},
	{"swap the drones of two assignments", func(s *scene, n int) bool {
		a, b := at(s.Assignments, n), at(s.Assignments, n/7)
		a.Content.DroneID, b.Content.DroneID = b.Content.DroneID, a.Content.DroneID
		return a.Content.DroneID != b.Content.DroneID && a.Live() && finished(a.ID)
	}},
	{"swap the holders of two drones", func(s *scene, n int) bool {
		a, b := at(s.Drones, n), at(s.Drones, n/7)
		if a == b || len(a.Holds)+len(b.Holds) == 0 {
			return false
		}
		a.Holds, b.Holds, a.BusyUntil, b.BusyUntil = b.Holds, a.Holds, b.BusyUntil, a.BusyUntil
		return true
	}},
	{"free a drone too soon", func(s *scene, n int) bool { d := at(s.Drones, n); d.BusyUntil--; return true }},
	{"another state", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		before := p.State
		p.State = *at(workflow.States, n/7)
		return p.State != before
	}},
	{"another revision", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		p.Revision += 1 - n%2*2
		return p.State == workflow.Completed
	}},
	{"another step", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		at(p.Steps, n).State = workflow.StepPending
		return p.State == workflow.Completed
	}},
	{"drop an operation", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		p.Operations = drop(p.Operations, at(p.Operations, n))
		return true
	}},
	{"drop an operation outside", func(s *scene, n int) bool {
		s.Outside = drop(s.Outside, at(s.Outside, n))
		return true
	}},
	{"an operation without an end", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		at(p.Operations, n).State = workflow.OperationPending
		return finished(p.ID)
	}},
	{"drop the last line of a history", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		p.History = p.History[:len(p.History)-1]
		return true
	}},
	{"another end", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		p.EndedAt = workflow.At(p.EndedAt.AddDate(0, 0, 1))
		return p.State.Final()
	}},
	{"a lease", func(s *scene, n int) bool { at(s.Transactions, n).Lease.Runner = "r"; return true }},
	{"a wake", func(s *scene, n int) bool { p := at(s.Transactions, n); p.WakeAt = p.AcceptedAt; return true }},
	{"another lifetime", func(s *scene, n int) bool { p := at(s.Transactions, n); p.TTL = max(0, 1-p.TTL); return true }},
	{"a notice too many", func(s *scene, n int) bool { at(s.Transactions, n).Outbox.Count++; return true }},
	{"an answer that nobody knows of", func(s *scene, n int) bool {
		e := *at(s.Ledger, n)
		e.OperationID += "-2"
		s.Ledger = append(s.Ledger, e)
		return true
	}},
	{"drop an entry of the quarantine", func(s *scene, n int) bool {
		e := at(s.Quarantine, n)
		ok := !newIndex(theSubject, &s.Snapshot).isDeadLetter(e) // what it asks for is elsewhere, too
		if ok {
			s.Quarantine = drop(s.Quarantine, e)
		}
		return ok
	}},
	{"pick up before the undo", func(s *scene, n int) bool {
		a := at(s.Assignments, n)
		undone := a.Content.DroneID != "" && !a.Live()
		if undone {
			pickedUpBeforeTheUndo(a)
		}
		return undone
	}},
	{"give a package to two", func(s *scene, n int) bool {
		a, b := at(s.Assignments, n), at(s.Assignments, n/7)
		a.Content.PackageDetail.ID = b.Content.PackageDetail.ID
		return a != b && a.Live() && b.Live()
	}},
	{"a document without end", func(s *scene, n int) bool { at(s.Documents, n).Bytes += largest; return true }},
	{"another line in a history", func(s *scene, n int) bool {
		p := at(s.Transactions, n)
		e := at(p.History, n)
		e.Transition = workflow.TransitionRetryUndo
		return e.State != workflow.Compensating
	}},
	{"a dead letter in quarantine", func(s *scene, n int) bool {
		s.Quarantine = append(s.Quarantine, quarantine.Entry{ID: "q.1", Source: "q", TransactionID: at(s.Transactions, n).ID})
		return true
	}},
	{"a dead letter", func(s *scene, n int) bool { at(s.Queues, n).DeadLetters++; return true }},
}

// Ensure that whatever single thing is made wrong, wherever, is found.
func FuzzCorruption(f *testing.F) {
	const places, step, tries = 3, 9973, 1000
	for i, c := range corruptions {
		added := 0
		for n := i; added < places; n += step {
			if n > tries*step {
				f.Fatalf("%s: there is no place for it", c.name)
			}
			if s := valid(f); c.do(&s, n) {
				f.Add(uint8(i), uint32(n))
				added++
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, n uint32) {
		c := *at(corruptions, int(kind))
		s := valid(t)
		if c.do(&s, int(n)) && check(s).OK() {
			t.Errorf("%s at %d is not found", c.name, n)
		}
	})
}
