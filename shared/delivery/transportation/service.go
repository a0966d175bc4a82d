// Package transportation is the backend that books a third party's carrier for
// deliveries that are too far for a drone.
package transportation

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Config are the settings.
type Config struct {
	// DroneReachKm is the distance, great circle in kilometres, up to which no
	// carrier is needed.
	DroneReachKm float64
	// Carrier is the name of the carrier that is booked.
	Carrier   string
	Retention time.Duration // of tombstones; 0 means record.DefaultRetention
	// Ahead is how long after it was put a booking may still be picked up; 0 is for
	// ever. The retention comes after it.
	Ahead time.Duration
}

// Defaults are the settings if nothing else is said: a delivery drone of today
// reaches about 40 km.
func Defaults() Config {
	return Config{DroneReachKm: 40, Carrier: "Contoso Freight", Retention: record.DefaultRetention}
}

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
	cfg Config
}

// New returns the service on its storage and clock.
func New(cfg Config, store record.Store[record.Record[Booking]], now func() time.Time) *Service {
	return &Service{cfg: cfg, Keeper: record.Keeper[Booking]{Store: store, Now: now, Retention: cfg.Retention, Needed: record.For[Booking](cfg.Ahead)}}
}

// Put decides whether a carrier is needed and books or releases it, under the
// rules of package record.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Booking], record.Change, error) {
	hash, err := record.Hash(ask)
	if err != nil {
		return record.Record[Booking]{}, "", err
	}
	return s.Keeper.Put(ctx, id, by, hash, func(live *Booking) Booking { return s.decide(ask, live) })
}

func (s *Service) decide(ask Ask, live *Booking) Booking {
	b := Booking{Ask: ask, DistanceKm: value.DistanceKm(ask.Pickup, ask.DropOff)}
	b.Required = b.DistanceKm > s.cfg.DroneReachKm
	switch {
	case !b.Required:
	case live != nil && live.Required:
		b.Carrier, b.BookingID = live.Carrier, live.BookingID
	default:
		b.Carrier, b.BookingID = s.cfg.Carrier, uuid.NewString()
	}
	return b
}
