package drone

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// pickedUp reports whether the transaction's package has been picked up: from
// then on its flight can't be changed, or a second drone might be sent for it.
func (a *assigning) pickedUp(rec *record.Record[Assignment]) bool {
	return rec.Live() && !a.now().Before(rec.Content.PickupAt)
}

// putBack takes in a later revision of what was picked up. A workflow sends one
// to go back to what it asked for before, and then nothing changes. Anything
// else is refused. A change that was broken off is done with: what it intended
// is forgotten, and the drone is held for the flight that stands and no longer.
// It is not done if another was quicker.
func (a *assigning) putBack(ctx context.Context, rec *record.Record[Assignment], etag string, change record.Change) (done bool, err error) {
	if a.hash != rec.Hash {
		return false, problem.New(problem.Conflict, "the package was picked up at %s", rec.Content.PickupAt.Format(time.RFC3339))
	}
	stands := rec.Content
	intended := stands.Candidate
	stands.Candidate = nil
	var drone Versioned
	if intended != nil {
		if intended.DroneID != stands.DroneID {
			if err := a.release(ctx, a.id, *intended, true); err != nil {
				return false, err
			}
		}
		if drone, err = a.drones.Read(ctx, stands.Flight.Zone, stands.DroneID); err != nil {
			return false, err
		}
	}
	rec.Put(a.by, change, a.hash, "", stands, a.now(), a.cfg.retention())
	if _, err = a.keeper.Store.Replace(ctx, a.id, *rec, etag); err != nil {
		return false, unlessLost(err)
	}
	if drone.Drone.TransactionID == a.id && drone.Drone.BusyUntil > stands.ArriveAt.UnixMilli() {
		return true, a.holdLess(ctx, drone, stands.Flight)
	}
	return true, nil
}

// flight returns the schedule with that drone, and until when the drone is to be
// held. A flight that stands and is asked for again is kept; one that is
// changed holds its drone until the change is confirmed.
func (a *assigning) flight(rec *record.Record[Assignment], d Drone) (f Flight, hold time.Time) {
	stands := rec.Live() && rec.Content.DroneID == d.ID
	if stands && a.hash == rec.Hash {
		return rec.Content.Flight, rec.Content.ArriveAt
	}
	f = a.cfg.plan(a.ask, a.now())
	f.DroneID, f.Zone = d.ID, d.Zone
	hold = f.ArriveAt
	if stands && rec.Content.ArriveAt.After(hold) {
		hold = rec.Content.ArriveAt
	}
	return f, hold
}

// holdLess holds the drone no longer than its flight takes, once a change to a
// sooner one is confirmed. The drone was read before that, so that another
// change that is quicker keeps what it has made of the drone.
func (a *assigning) holdLess(ctx context.Context, v Versioned, f Flight) error {
	v.Drone.BusyUntil = f.ArriveAt.UnixMilli()
	return unlessLost(a.drones.Replace(ctx, v.Drone, v.ETag))
}
