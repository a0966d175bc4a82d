package drone

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
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
	// Candidate is the drone that is being claimed, under CandidateETag; nil once
	// that is settled.
	Candidate     *Candidate `json:"candidate,omitempty"`
	CandidateETag string     `json:"candidateEtag,omitempty"`
	// Left are drones that the assignment has named before, and that are to be
	// free of the transaction: two at most, the one of the flight before the last
	// change and a candidate that another one took the place of.
	Left []Left `json:"left,omitempty"`
	// PickedUp is set when an undo is refused because of the pickup, and stays:
	// what one caller was told holds for all, also for an undo that was judged
	// before the pickup and is still on its way, or by a clock that is behind.
	PickedUp bool `json:"pickedUp,omitempty"`
}

// Candidate names a drone.
type Candidate struct {
	DroneID string `json:"droneId"`
	Zone    string `json:"zone"`
}

// Left names a drone that is not to be had any more, and the ETag of a claim of it
// that may be on its way; "" if there is none.
type Left struct {
	Candidate
	ETag string `json:"etag,omitempty"`
}

// names reports whether the assignment has, or is about to have, the drone.
func (a *Assignment) names(c Candidate) bool {
	return a.Candidate != nil && *a.Candidate == c || a.flown() == c
}

// flown is the drone of the confirmed flight; its zero value if there is none.
func (a *Assignment) flown() Candidate { return Candidate{a.DroneID, a.Flight.Zone} }

// without returns the drones that are left when the assignment goes on with c.
func (a *Assignment) without(c Candidate) []Left {
	var left []Left
	if a.Candidate != nil && *a.Candidate != c {
		left = append(left, Left{*a.Candidate, a.CandidateETag})
	}
	if flown := a.flown(); flown != c && flown != (Candidate{}) && (len(left) == 0 || left[0].Candidate != flown) {
		left = append(left, Left{Candidate: flown})
	}
	return left
}

// Service assigns drones. It is safe for concurrent use.
type Service struct {
	cfg    Config
	keeper record.Keeper[Assignment]
	drones Store
	fleet  *fleet
	now    func() time.Time
}

// New returns the service on its two storages and its clock.
func New(cfg Config, assignments record.Store[record.Record[Assignment]], drones Store, now func() time.Time) *Service {
	return &Service{
		cfg:    cfg,
		keeper: record.Keeper[Assignment]{Store: assignments, Now: now, Retention: cfg.Retention},
		drones: drones,
		fleet:  newFleet(cfg, drones, now),
		now:    now,
	}
}

// Get returns a transaction's confirmed assignment. NotFound if there is none.
func (s *Service) Get(ctx context.Context, id string) (record.Record[Assignment], error) {
	return s.keeper.GetLive(ctx, id)
}

// Delete undoes a transaction's assignment and frees its drone, if it still has
// one. From the pickup on that is refused, and the drone stays held; an
// assignment that was never confirmed has no flight and can always be undone.
// The id of an assignment is its transaction's, so a call by another one touches
// nothing. The error is a *problem.Problem if the DELETE is refused.
func (s *Service) Delete(ctx context.Context, id string, by record.By) error {
	if by.TransactionID != id {
		return nil
	}
	var refused error
	rec, err := record.Update(ctx, s.keeper.Store, id, func(rec *record.Record[Assignment], _ bool) (bool, error) {
		rec.ID = id
		now := s.now()
		if refused = nil; !pickedUp(rec, now) {
			return rec.Delete(by, now, s.cfg.Retention), nil
		}
		refused = cannotUndo(rec.Content.Flight)
		told := rec.Content.PickedUp
		rec.Content.PickedUp = true
		return !told, nil
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return err
	}
	// From here on a repeat comes by again: the tombstone keeps the content.
	return s.letAllGo(ctx, id, append(rec.Content.without(Candidate{}), rec.Content.Left...))
}

// Drone returns a drone. NotFound if there is none.
func (s *Service) Drone(ctx context.Context, id string) (Drone, error) {
	z, err := s.fleet.zone(ctx, zoneOfDrone(id))
	if err != nil {
		return Drone{}, err
	}
	v, err := s.drones.Read(ctx, z.name, id)
	return v.Drone, err
}

// Drones returns a page of a zone's drones, and the continuation of the next
// page ("" after the last). NotFound if there is no such zone.
func (s *Service) Drones(ctx context.Context, zone, continuation string) ([]Drone, string, error) {
	if _, err := s.fleet.zone(ctx, zone); err != nil {
		return nil, "", err
	}
	page, next, err := s.drones.Zone(ctx, zone, continuation)
	drones := make([]Drone, len(page))
	for i, v := range page {
		drones[i] = v.Drone
	}
	return drones, next, err
}
