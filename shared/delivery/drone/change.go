package drone

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// pickedUp reports whether the transaction's package has been picked up: from
// then on its flight can be neither changed nor undone, or a second drone might
// be sent for the package.
func pickedUp(rec *record.Record[Assignment], now time.Time) bool {
	return rec.Live() && (rec.Content.PickedUp || !now.Before(rec.Content.PickupAt))
}

// cannotUndo refuses to undo a flight after its pickup.
func cannotUndo(f Flight) error {
	return problem.New(record.CannotUndo, "drone %s has picked up the package at %s and arrives at %s",
		f.DroneID, f.PickupAt.Format(time.RFC3339), f.ArriveAt.Format(time.RFC3339))
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
	broken := stands.Candidate != nil
	left := stands.without(stands.flown())
	stands.Candidate, stands.CandidateETag, stands.Left = nil, "", left
	var drone Versioned
	if broken {
		if drone, err = a.drones.Read(ctx, stands.Flight.Zone, stands.DroneID); err != nil {
			return false, err
		}
	}
	rec.Put(a.by, change, a.hash, "", stands, a.now(), a.cfg.Retention)
	if _, err = a.keeper.Store.Replace(ctx, a.id, *rec, etag); err != nil {
		return false, unlessLost(err)
	}
	if err := a.letAllGo(ctx, a.id, left); err != nil {
		return false, err
	}
	if _, held := drone.Drone.HoldOf(a.id); held {
		return true, a.trim(ctx, a.id, drone, a.cfg.window(stands.Flight, a.now()))
	}
	return true, nil
}

// flight returns the schedule that is asked for, without its drone, and the time
// for which it needs one. A flight that stands and is asked for again is kept.
func (a *assigning) flight(rec *record.Record[Assignment]) (Flight, Window) {
	now := a.now()
	f := rec.Content.Flight
	if !rec.Live() || a.hash != rec.Hash {
		f = a.cfg.plan(a.ask, now)
	}
	return f, a.cfg.window(f, now)
}
