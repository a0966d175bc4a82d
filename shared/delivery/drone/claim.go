package drone

import (
	"context"
	"errors"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// errContended is the cause of a release that others got in the way of, each
// time.
var errContended = errors.New("other writers keep changing the drone")

// claim sets the drone aside for the transaction in the windows. It reports
// false if another was quicker.
func (a *assigning) claim(ctx context.Context, v Versioned, windows ...Window) (bool, error) {
	d := v.Drone
	d.hold(a.id, a.now(), windows...)
	err := a.drones.Replace(ctx, d, v.ETag)
	if err == nil {
		return true, nil
	}
	if z := a.fleet.zones[d.Zone]; z != nil && failure.Is(err, failure.Conflict) {
		z.lose()
	}
	return false, unlessLost(err)
}

// letGo frees a drone that the assignment does not name any more. If the
// transaction does not hold it, but a claim under the ETag that the drone still
// has may be on its way, it writes the drone as it is: then the claim fails.
//
// The drone is read before the assignment, so that what a later intent claims is
// not freed: whoever wrote that intent since has read the drone before this
// write, or is seen in the assignment.
func (s *Service) letGo(ctx context.Context, transactionID string, left Left) error {
	for range failure.Tries {
		v, err := s.drones.Read(ctx, left.Zone, left.DroneID)
		if failure.Is(err, failure.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		_, held := v.Drone.HoldOf(transactionID)
		if !held && v.ETag != left.ETag {
			return nil
		}
		rec, _, err := s.keeper.Store.Read(ctx, transactionID)
		if err != nil && !failure.Is(err, failure.NotFound) {
			return err
		}
		if rec.Content.names(left.Candidate) && !buried(&rec) {
			return nil
		}
		if held {
			v.Drone.hold(transactionID, s.now())
		}
		err = s.drones.Replace(ctx, v.Drone, v.ETag)
		if err == nil {
			if held {
				s.fleet.freed()
			}
			return nil
		}
		if err := unlessLost(err); err != nil {
			return err
		}
	}
	return failure.New(failure.Transient, "free drone", left.DroneID, errContended)
}

// trim holds the drone for the confirmed flight and no longer. The drone was
// read before the flight was confirmed, so that another change that is quicker
// keeps what it has made of the drone.
func (s *Service) trim(ctx context.Context, transactionID string, v Versioned, w Window) error {
	v.Drone.hold(transactionID, s.now(), w)
	return unlessLost(s.drones.Replace(ctx, v.Drone, v.ETag))
}

func buried(rec *record.Record[Assignment]) bool {
	_, buried := rec.Buried(rec.ID)
	return buried
}
