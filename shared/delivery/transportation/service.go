// Package transportation is the backend that books a third party's carrier for
// deliveries that are too far for a drone.
package transportation

import (
	"context"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// carrier is the one that is booked.
const carrier = "Contoso Freight"

// Ask is what a transaction asks for.
type Ask struct {
	Pickup  value.Location `json:"pickup"`
	DropOff value.Location `json:"dropOff"`
}

// Booking is what was decided.
type Booking struct {
	Ask
	DistanceKm float64 `json:"distanceKm"`
	Required   bool    `json:"required"` // whether a carrier is needed
	// Carrier and BookingID are of the booking, "" if none is needed. A booking
	// that stays needed keeps its BookingID through every change; one that is
	// not needed any more is released.
	Carrier   string `json:"carrier,omitempty"`
	BookingID string `json:"bookingId,omitempty"`
}

// Service keeps the bookings. It is safe for concurrent use.
type Service struct {
	record.Keeper[Booking]
	reachKm float64
}

// New returns the service on a keeper. reachKm is the distance, great circle in
// kilometres, up to which no carrier is needed.
func New(k record.Keeper[Booking], reachKm float64) *Service { return &Service{k, reachKm} }

// Put decides whether a carrier is needed and books or releases it, under the
// rules of package record.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Booking], record.Change, error) {
	return record.Put(ctx, &s.Keeper, id, by, ask, func(live *Booking) Booking { return s.decide(ask, live) })
}

func (s *Service) decide(ask Ask, live *Booking) Booking {
	b := Booking{Ask: ask, DistanceKm: value.DistanceKm(ask.Pickup, ask.DropOff)}
	b.Required = b.DistanceKm > s.reachKm
	switch {
	case !b.Required:
	case live != nil && live.Required:
		b.Carrier, b.BookingID = live.Carrier, live.BookingID
	default:
		b.Carrier, b.BookingID = carrier, uuid.NewString()
	}
	return b
}
