package deliveries

import (
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Stage is how far a delivery is.
type Stage string

// The stages. Rescheduled occurs among the events only.
const (
	Created         Stage = "Created"
	Rescheduled     Stage = "Rescheduled"
	HeadedToPickup  Stage = "HeadedToPickup"
	HeadedToDropoff Stage = "HeadedToDropoff"
	Completed       Stage = "Completed"
	Confirmed       Stage = "Confirmed" // among the events only
	Cancelled       Stage = "Cancelled"
)

// Tracking is where a delivery is at some moment.
type Tracking struct {
	Status Status
	Events []TrackingEvent
}

// Status is the present.
type Status struct {
	Stage Stage `json:"stage"`
	// LastKnownLocation is on the way to the drop-off; nil before the pickup,
	// since nobody tells where the drone comes from.
	LastKnownLocation *value.Location `json:"lastKnownLocation,omitempty"`
	// The expected, or past, times; zero for a cancelled delivery.
	PickupETA   time.Time `json:"pickupETA,omitzero"`
	DeliveryETA time.Time `json:"deliveryETA,omitzero"`
	// OnTime is whether the arrival is not after deliverBy.
	OnTime bool `json:"onTime"`
}

// TrackingEvent is a moment of the past.
type TrackingEvent struct {
	Stage    Stage           `json:"stage"`
	At       time.Time       `json:"at"`
	Location *value.Location `json:"location,omitempty"`
}

// track tells the present and the past of a delivery from its schedule, its
// journal and the clock.
func track(rec *record.Record[Content], now time.Time) Tracking {
	c := &rec.Content
	end := now // of what the schedule says
	var events []TrackingEvent
	for _, e := range rec.Story() {
		switch e.Change {
		case record.Created:
			events = append(events, TrackingEvent{Stage: Created, At: e.At})
		case record.Changed:
			events = append(events, TrackingEvent{Stage: Rescheduled, At: e.At})
		case record.Deleted:
			events = append(events, TrackingEvent{Stage: Cancelled, At: e.At})
			end = e.At
		}
	}
	for _, e := range []TrackingEvent{
		{HeadedToPickup, c.DepartAt, nil},
		{HeadedToDropoff, c.PickupAt, &c.Pickup},
		{Completed, c.ArriveAt, &c.DropOff},
	} {
		if !e.At.After(end) {
			events = append(events, e)
		}
	}
	for _, confirmation := range c.Confirmations {
		events = append(events, TrackingEvent{Confirmed, confirmation.At, &confirmation.GeoCoordinates})
	}
	slices.SortStableFunc(events, func(a, b TrackingEvent) int { return a.At.Compare(b.At) })
	return Tracking{Status: status(rec, now), Events: events}
}

func status(rec *record.Record[Content], now time.Time) Status {
	c := &rec.Content
	if !rec.Live() {
		return Status{Stage: Cancelled}
	}
	s := Status{PickupETA: c.PickupAt, DeliveryETA: c.ArriveAt, OnTime: !c.ArriveAt.After(c.DeliverBy)}
	switch {
	case now.Before(c.DepartAt):
		s.Stage = Created
	case now.Before(c.PickupAt):
		s.Stage = HeadedToPickup
	case now.Before(c.ArriveAt):
		s.Stage = HeadedToDropoff
		flown := float64(now.Sub(c.PickupAt)) / float64(c.ArriveAt.Sub(c.PickupAt))
		s.LastKnownLocation = new(value.Between(c.Pickup, c.DropOff, flown))
	default:
		s.Stage = Completed
		s.LastKnownLocation = &c.DropOff
	}
	return s
}
