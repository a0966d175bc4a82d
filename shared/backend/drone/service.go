package drone

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// The problems of this backend, besides those of package record.
var (
	NoDroneFree = problem.Type{ID: "no-drone-free", Status: 429, Title: "No drone is free"}
	TooHeavy    = problem.Type{ID: "too-heavy", Status: 422, Title: "No drone can carry the package"}
)

// Assignment is what is kept of a transaction's drone.
type Assignment struct {
	Ask
	Flight
	// Candidate is the drone that is being claimed; nil once that is settled.
	Candidate *Candidate `json:"candidate,omitempty"`
}

// Candidate names a drone.
type Candidate struct {
	DroneID string `json:"droneId"`
	Zone    string `json:"zone"`
}

// Service assigns drones. It is safe for concurrent use.
type Service struct {
	cfg    Config
	keeper record.Keeper[Assignment]
	drones Store
	fleet  *fleet
	hints  *hints
	now    func() time.Time
}

// New returns the service on its two storages and its clock. The error says
// what is wrong with the settings.
func New(cfg Config, assignments record.Store[record.Record[Assignment]], drones Store, now func() time.Time) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("drone settings: %w", err)
	}
	return &Service{
		cfg:    cfg,
		keeper: record.Keeper[Assignment]{Store: assignments, Now: now, Retention: cfg.Retention},
		drones: drones,
		fleet:  newFleet(cfg, drones),
		hints:  &hints{taken: map[string]time.Time{}},
		now:    now,
	}, nil
}

// EnsureFleet creates the drones that are missing. It is idempotent; the first
// request for a zone does it for that zone, too.
func (s *Service) EnsureFleet(ctx context.Context) error {
	for _, zone := range s.cfg.zonesFrom(zoneName(0)) {
		if err := s.fleet.ensure(ctx, zone); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a transaction's confirmed assignment. NotFound if there is none.
func (s *Service) Get(ctx context.Context, id string) (record.Record[Assignment], error) {
	return s.keeper.GetLive(ctx, id)
}

// Delete undoes a transaction's assignment and frees its drone, if it still has
// one. The id of an assignment is its transaction's, so a call by another one
// touches nothing.
func (s *Service) Delete(ctx context.Context, id string, by record.By) error {
	if by.TransactionID != id {
		return nil
	}
	rec, err := s.keeper.Delete(ctx, id, by)
	if err != nil {
		return err
	}
	// From here on a repeat comes by again: the tombstone keeps the content.
	if flight := rec.Content.Flight; flight.DroneID != "" {
		if err := s.release(ctx, id, Candidate{flight.DroneID, flight.Zone}, false); err != nil {
			return err
		}
	}
	if candidate := rec.Content.Candidate; candidate != nil {
		return s.release(ctx, id, *candidate, true)
	}
	return nil
}

// Drone returns a drone. NotFound if there is none.
func (s *Service) Drone(ctx context.Context, id string) (Drone, error) {
	zone, ok := zoneOfDrone(id)
	if !ok || s.fleet.zones[zone] == nil {
		return Drone{}, failure.New(failure.NotFound, "read drone", id, nil)
	}
	if err := s.fleet.ensure(ctx, zone); err != nil {
		return Drone{}, err
	}
	v, err := s.drones.Read(ctx, zone, id)
	return v.Drone, err
}

// Drones returns a page of a zone's drones, and the continuation of the next
// page ("" after the last). NotFound if there is no such zone.
func (s *Service) Drones(ctx context.Context, zone, continuation string) ([]Drone, string, error) {
	if s.fleet.zones[zone] == nil {
		return nil, "", failure.New(failure.NotFound, "list drones of", zone, nil)
	}
	if err := s.fleet.ensure(ctx, zone); err != nil {
		return nil, "", err
	}
	page, next, err := s.drones.Zone(ctx, zone, continuation)
	if err != nil {
		return nil, "", err
	}
	drones := make([]Drone, len(page))
	for i, v := range page {
		drones[i] = v.Drone
	}
	return drones, next, nil
}
