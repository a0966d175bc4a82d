package drone

import (
	"context"
	"errors"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// errContended is the cause of a release that others got in the way of, each
// time.
var errContended = errors.New("others keep changing the drone")

// release frees a drone if the transaction holds it. With fence it writes the
// drone also if not, unchanged: then a claim of the transaction's that is still
// on its way fails.
func (s *Service) release(ctx context.Context, transactionID string, c Candidate, fence bool) error {
	for range record.Attempts {
		v, err := s.drones.Read(ctx, c.Zone, c.DroneID)
		if failure.Is(err, failure.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		d := v.Drone
		held := d.TransactionID == transactionID
		if !held && !fence {
			return nil
		}
		if held {
			d.TransactionID, d.BusyUntil = "", 0
		}
		err = s.drones.Replace(ctx, d, v.ETag)
		if err == nil {
			if held {
				s.hints.freed(c.DroneID)
			}
			return nil
		}
		if err := unlessLost(err); err != nil {
			return err
		}
	}
	return failure.New(failure.Transient, "free drone", c.DroneID, errContended)
}
