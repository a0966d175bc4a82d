package delivery

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Change is the body of a reschedule: what is to be different. What is nil
// stays as it is; at least one is given.
type Change struct {
	Pickup     *Location  `json:"pickup,omitempty"`
	DropOff    *Location  `json:"dropOff,omitempty"`
	PickupTime *time.Time `json:"pickupTime,omitempty"`
	DeliverBy  *time.Time `json:"deliverBy,omitempty"`
}

type changeBody struct {
	Pickup     *value.LocationBody `json:"pickup"`
	DropOff    *value.LocationBody `json:"dropOff"`
	PickupTime *string             `json:"pickupTime"`
	DeliverBy  *string             `json:"deliverBy"`
}

// ParseChange reads a change from JSON, as strictly as Parse reads a request, and
// with the same limit. Whether the times fit the rest of the request is seen by Merge.
func ParseChange(data []byte, latest time.Time) (Change, error) {
	var body changeBody
	faults, err := problem.DecodeAll(data, &body)
	if err != nil {
		return Change{}, err
	}
	var change Change
	if body.Pickup != nil {
		change.Pickup = new(body.Pickup.Location(faults, "/pickup"))
	}
	if body.DropOff != nil {
		change.DropOff = new(body.DropOff.Location(faults, "/dropOff"))
	}
	if body.PickupTime != nil {
		change.PickupTime = new(faults.Time("/pickupTime", body.PickupTime))
		checkHorizon(faults, *change.PickupTime, latest)
	}
	if body.DeliverBy != nil {
		change.DeliverBy = new(faults.Time("/deliverBy", body.DeliverBy))
	}
	if change.PickupTime != nil && change.DeliverBy != nil {
		checkOrder(faults, *change.PickupTime, *change.DeliverBy)
	}
	if change == (Change{}) && faults.Err() == nil {
		faults.Add("", "must change at least one of pickup, dropOff, pickupTime, deliverBy")
	}
	if err := faults.Err(); err != nil {
		return Change{}, err
	}
	return change, nil
}

// Canonical returns the one JSON form of c, as Request.Canonical does.
func (c Change) Canonical() (json.RawMessage, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode change: %w", err)
	}
	return data, nil
}

// Merge returns r with the change made. The error is a *problem.Problem if the
// times contradict each other then.
func (r Request) Merge(c Change) (Request, error) {
	if c.Pickup != nil {
		r.Pickup = *c.Pickup
	}
	if c.DropOff != nil {
		r.DropOff = *c.DropOff
	}
	if c.PickupTime != nil {
		r.PickupTime = *c.PickupTime
	}
	if c.DeliverBy != nil {
		r.DeliverBy = *c.DeliverBy
	}
	var faults problem.Faults
	checkOrder(&faults, r.PickupTime, r.DeliverBy)
	if err := faults.Err(); err != nil {
		return Request{}, err
	}
	return r, nil
}
