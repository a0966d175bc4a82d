package invariant

import (
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// completed calls visit for each transaction that is Completed.
func (x *index) completed(visit func(*workflow.Progress)) {
	for _, id := range x.ids {
		if p := x.transactions[id]; p.State == workflow.Completed {
			visit(p)
		}
	}
}

func checkCompleted(x *index, f *findings) {
	x.completed(func(p *workflow.Progress) {
		f.checked++
		for _, step := range x.definition.Steps {
			s := p.Step(step.Name)
			switch {
			case s == nil || s.State != workflow.StepSucceeded || s.Revision == 0:
				f.broken(p.ID, "step", "%s has not succeeded", step.Name)
			case s.Effect != workflow.EffectYes:
				f.broken(p.ID, "step", "the effect of %s is %s", step.Name, s.Effect)
			case step.Undo != nil:
				x.checkWhole(p, step.Name, f)
			}
		}
		x.checkAccount(p, f)
	})
}

// checkWhole wants the one live record of a step, where the step's call has put
// it.
func (x *index) checkWhole(p *workflow.Progress, step string, f *findings) {
	at := target(x.call(p, step), step)
	live := x.live[place{step, p.ID}]
	if len(live) > 1 {
		f.broken(p.ID, "doubled", "it has %d of %s: %v", len(live), step, live)
	}
	e := x.byID[at]
	switch {
	case e == nil:
		f.broken(p.ID, "missing", "there is no %s %s", step, at.id)
	case e.TransactionID != p.ID:
		f.broken(p.ID, "missing", "%v belongs to %q", e, e.TransactionID)
	}
	if a := x.assignments[at.id]; step == delivery.StepDrone && a != nil && (a.Content.DroneID == "" || a.Content.Candidate != nil) {
		f.broken(p.ID, "half done", "the assignment of drone %q is not confirmed", a.Content.DroneID)
	}
}

// checkAccount wants the owner to be a customer, who was active when it was
// asked for. Accounts may change later.
func (x *index) checkAccount(p *workflow.Progress, f *findings) {
	var request delivery.Request
	var seen account.Account
	err := json.Unmarshal(p.Request, &request)
	if s := p.Step(delivery.StepAccount); s != nil && err == nil {
		err = json.Unmarshal(s.Result, &seen)
	}
	if err != nil {
		f.broken(p.ID, "account", "request or answer can't be read: %v", err)
		return
	}
	if seen.ID != request.OwnerID || seen.Status != account.Active {
		f.broken(p.ID, "account", "the owner is %s, and account %q was found %s", request.OwnerID, seen.ID, seen.Status)
	}
	if x.accounts[request.OwnerID] == nil {
		f.broken(p.ID, "account", "there is no account %s", request.OwnerID)
	}
}

func checkCarriers(x *index, f *findings) {
	for id, r := range sorted(x.bookings) {
		if !r.Live() {
			continue
		}
		f.checked++
		b := r.Content
		if booked := b.Carrier != "" && b.BookingID != ""; booked != b.Required || !booked && b.Carrier+b.BookingID != "" {
			f.broken(id, "carrier", "needed: %t, booked: %q with %q", b.Required, b.BookingID, b.Carrier)
		}
		if want := value.DistanceKm(b.Pickup, b.DropOff); b.DistanceKm != want {
			f.broken(id, "carrier", "it was decided for %g km, the way has %g km", b.DistanceKm, want)
		}
	}
}

func checkSchedules(x *index, f *findings) {
	x.completed(func(p *workflow.Progress) {
		a, d := x.assignments[p.ID], x.deliveries[p.ID]
		if a == nil || d == nil {
			return // a violation of another invariant
		}
		if left(p) && a.Revision > d.Revision {
			return // the drone could not be put back, or the delivery
		}
		f.checked++
		flown, told := a.Content.Flight, d.Content.Ask
		if told.DroneID != flown.DroneID {
			f.broken(p.ID, "other drone", "the delivery has drone %s, the assignment %s", told.DroneID, flown.DroneID)
		}
		if !told.DepartAt.Equal(flown.DepartAt) || !told.PickupAt.Equal(flown.PickupAt) || !told.ArriveAt.Equal(flown.ArriveAt) {
			f.broken(p.ID, "other times", "the delivery departs at %s and arrives at %s, its drone at %s and %s",
				stamp(told.DepartAt), stamp(told.ArriveAt), stamp(flown.DepartAt), stamp(flown.ArriveAt))
		}
	})
}

// interval is how long a drone flew for a transaction.
type interval struct {
	transactionID string
	drone.Candidate
	from, to int64 // Unix milliseconds
}

// clocksApart is how far the clocks of instances may be apart.
const clocksApart = 5 * time.Second

// holdOf returns how long an assignment needed its drone for certain: from the
// departure to the arrival, or to the undo; before the departure others may have
// it. When it was undone another instance says than when it departed, and whoever
// had the drone next: by their clocks that was up to clocksApart earlier. It is
// false for an assignment that was never confirmed.
func holdOf(r *record.Record[drone.Assignment]) (interval, bool) {
	flight := r.Content.Flight
	h := interval{
		transactionID: r.ID, Candidate: drone.Candidate{DroneID: flight.DroneID, Zone: flight.Zone},
		from: flight.DepartAt.UnixMilli(), to: flight.ArriveAt.UnixMilli(),
	}
	for _, e := range r.Journal {
		if e.Change == record.Deleted {
			h.to = min(h.to, e.At.Add(-clocksApart).UnixMilli())
		}
	}
	return h, flight.DroneID != ""
}
