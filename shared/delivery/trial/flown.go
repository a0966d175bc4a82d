package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// assigned returns the assignments that were confirmed, in the order of their
// ids.
func (w *world) assigned(visit func(id string, r *record.Record[drone.Assignment])) {
	for id, r := range trial.Sorted(w.assignments) {
		if r.Content.DroneID != "" {
			visit(id, r)
		}
	}
}

// entryOf returns the last entry of that kind that a transaction has in a
// journal, nil if there is none.
func entryOf(journal []record.JournalEntry, change record.Change, transactionID string) *record.JournalEntry {
	for i := len(journal) - 1; i >= 0; i-- {
		if e := &journal[i]; e.Change == change && e.TransactionID == transactionID {
			return e
		}
	}
	return nil
}

// undoneInTheAir returns when an assignment was undone, if its drone had picked
// up the package by then, or somebody was told so: what counts is the flight, not
// what was made of its record. Both instants are of the one document, which its
// backend judges by one clock.
func undoneInTheAir(r *record.Record[drone.Assignment]) (time.Time, bool) {
	e := entryOf(r.Journal, record.Deleted, r.ID)
	if r.Live() || e == nil || e.At.Before(r.Content.PickupAt) && !r.Content.PickedUp {
		return time.Time{}, false
	}
	return e.At, true
}

// flies reports whether a drone is on its way for the package of an assignment,
// was, or will be.
func flies(r *record.Record[drone.Assignment]) bool {
	_, inTheAir := undoneInTheAir(r)
	return r.Live() || inTheAir
}

// checkPackages wants one flight for a package, whoever asked for it: a package
// comes free for another transaction only by an undo before its pickup. No two
// clocks are compared.
func (w *world) checkPackages(f *trial.Findings) {
	flights := map[string][]*record.Record[drone.Assignment]{}
	w.assigned(func(_ string, r *record.Record[drone.Assignment]) {
		f.Checked++
		if flies(r) {
			id := r.Content.PackageDetail.ID
			flights[id] = append(flights[id], r)
		}
	})
	for id, all := range trial.Sorted(flights) {
		slices.SortFunc(all, func(a, b *record.Record[drone.Assignment]) int {
			return cmp.Or(a.Since().Compare(b.Since()), cmp.Compare(a.ID, b.ID))
		})
		for i, r := range all[1:] {
			f.Broken(r.ID, "two drones", "drone %s flies for package %s, and so does drone %s for %s, picked up at %s",
				r.Content.DroneID, id, all[i].Content.DroneID, all[i].ID, day(all[i].Content.PickupAt))
		}
	}
}

// checkGrounded wants nothing to fly for what was undone. What the world has
// done can't be: neither is the flight let go after its pickup, nor its package
// as long as it flies.
func (w *world) checkGrounded(f *trial.Findings) {
	undone := []workflow.State{workflow.Rejected, workflow.Compensated, workflow.Cancelled}
	w.assigned(func(id string, r *record.Record[drone.Assignment]) {
		f.Checked++
		if at, ok := undoneInTheAir(r); ok {
			f.Broken(id, "undone in the air", "drone %s had picked up at %s, and was let go at %s", r.Content.DroneID, day(r.Content.PickupAt), day(at))
		}
		if p := w.transactions[id]; p != nil && r.Live() && slices.Contains(undone, p.State) {
			f.Broken(id, "flies", "it is %s, and drone %s picks up for it at %s", p.State, r.Content.DroneID, day(r.Content.PickupAt))
		}
		if p := w.transactions[id]; p != nil {
			checkTakenBack(p, r, f)
		}
		parcel := w.packages[r.Content.PackageDetail.ID]
		if flies(r) && parcel != nil && entryOf(parcel.Journal, record.Deleted, id) != nil {
			f.Broken(id, "package let go", "drone %s flies for package %s, which is no longer its own", r.Content.DroneID, parcel.ID)
		}
	})
}

// checkTakenBack wants a cancel to be taken back only if the drone's backend has
// refused the undo, since it had picked up, and each of them to be Refused.
func checkTakenBack(p *workflow.Progress, r *record.Record[drone.Assignment], f *trial.Findings) {
	resumed, refused := 0, 0
	for _, e := range p.History {
		if e.Transition == workflow.TransitionResume {
			resumed++
		}
	}
	for _, o := range p.Operations {
		if o.Kind == workflow.OperationCancel && o.State == workflow.OperationRefused {
			refused++
		}
	}
	switch {
	case resumed > 0 && !r.Content.PickedUp:
		f.Broken(p.ID, "taken back", "its cancel was taken back, and drone %s has picked up nothing", r.Content.DroneID)
	case resumed > refused:
		f.Broken(p.ID, "taken back", "%d cancels were taken back, %d are Refused", resumed, refused)
	}
}
