package drone

import (
	"context"
	"errors"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// rounds bounds how many drones or documents one request may lose to others.
const rounds = 16

// errOutrun is the cause of an assignment that others were quicker at, each
// time.
var errOutrun = errors.New("other runners keep taking the drones")

// Put assigns a drone to a transaction, under the rules of package record. A
// change keeps the drone if the transaction still has it; from the pickup on it
// is refused. The error is a *problem.Problem if the rules refuse the PUT, if
// the package is too heavy, or if no drone is free.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Assignment], record.Change, error) {
	var none record.Record[Assignment]
	if by.TransactionID != id {
		return none, "", problem.New(record.OwnedByAnother, "the assignment %s is of the transaction of that id", id)
	}
	if ask.PackageDetail.WeightKg > s.cfg.CapacityKg {
		return none, "", problem.New(TooHeavy, "the package has %g kg, drones carry up to %g kg",
			ask.PackageDetail.WeightKg, s.cfg.CapacityKg)
	}
	hash, err := record.Hash(ask)
	if err != nil {
		return none, "", err
	}
	a := &assigning{Service: s, id: id, by: by, ask: ask, hash: hash, absent: by.Revision == 1}
	for range rounds {
		rec, change, done, err := a.round(ctx)
		if done || err != nil {
			return rec, change, err
		}
	}
	return none, "", failure.New(failure.Transient, "assign drone to", id, errOutrun)
}

// assigning is one PUT on its way.
type assigning struct {
	*Service
	id   string
	by   record.By
	ask  Ask
	hash string
	// absent says that there is most likely no assignment yet: it is read only if the
	// creation of the intent is refused.
	absent bool
}

// round reads the assignment and goes on with it as far as nobody interferes.
// It is done when the assignment is confirmed; otherwise, without an error,
// another was quicker at one of the two documents.
func (a *assigning) round(ctx context.Context) (rec record.Record[Assignment], change record.Change, done bool, err error) {
	guessed := a.absent
	rec, etag, exists, err := a.read(ctx)
	if err != nil {
		return rec, "", false, err
	}
	change, refused := rec.Admit(a.by, a.hash)
	if err := a.letAllGo(ctx, a.id, rec.Content.Left); err != nil {
		return rec, "", false, err
	}
	if refused != nil || change == "" {
		return rec, "", refused == nil, refused
	}
	if pickedUp(&rec, a.now()) {
		done, err := a.putBack(ctx, &rec, etag, change)
		return rec, change, done, err
	}
	_, wanted := a.flight(&rec)
	drone, err := a.choose(ctx, &rec, wanted)
	if guessed && err != nil {
		return rec, "", false, nil // the assignment may be there, and have its drone
	}
	if err != nil {
		return rec, "", false, err
	}
	if z := a.fleet.zones[drone.Drone.Zone]; z != nil {
		defer z.giveBack(drone.Drone.ID)
	}
	// Planned once more, now that the drone was read: of the holds that were over before
	// that its document may tell nothing.
	flight, window := a.flight(&rec)
	if !drone.Drone.FreeFor(a.id, window, a.now()) {
		return rec, "", false, nil
	}
	standing := a.cfg.window(rec.Content.Flight, a.now())
	chosen := Candidate{drone.Drone.ID, drone.Drone.Zone}
	flight.DroneID, flight.Zone = chosen.DroneID, chosen.Zone
	windows := []Window{window}
	if rec.Live() && rec.Content.flown() == chosen && !window.covers(standing) {
		windows = append(windows, standing) // until the change is confirmed
	}
	if etag, err = a.intend(ctx, &rec, exists, etag, drone); err != nil {
		return rec, "", false, unlessLost(err)
	}
	// The drone of a flight that is to be changed stays: it is still named.
	if err := a.letAllGo(ctx, a.id, rec.Content.Left); err != nil {
		return rec, "", false, err
	}
	if ok, err := a.claim(ctx, drone, windows...); err != nil || !ok {
		return rec, "", false, err
	}
	done, err = a.confirm(ctx, &rec, etag, change, flight, windows)
	return rec, change, done, err
}

func (a *assigning) read(ctx context.Context) (rec record.Record[Assignment], etag string, exists bool, err error) {
	if a.absent {
		a.absent = false
		return record.Record[Assignment]{ID: a.id}, "", false, nil
	}
	rec, etag, err = a.keeper.Store.Read(ctx, a.id)
	if failure.Is(err, failure.NotFound) {
		return record.Record[Assignment]{ID: a.id}, "", false, nil
	}
	return rec, etag, err == nil, err
}

// intend writes the intent, always after the drone was read.
func (a *assigning) intend(ctx context.Context, rec *record.Record[Assignment], exists bool, etag string, v Versioned) (string, error) {
	chosen := Candidate{v.Drone.ID, v.Drone.Zone}
	rec.Content.Left = rec.Content.without(chosen)
	rec.Content.Candidate, rec.Content.CandidateETag = &chosen, v.ETag
	rec.Prune(a.now(), a.cfg.Retention)
	if exists {
		return a.keeper.Store.Replace(ctx, a.id, *rec, etag)
	}
	return a.keeper.Store.Create(ctx, a.id, *rec)
}

// confirm makes the flight the assignment's, and frees what it does not need of
// what was held before: other drones, and other times than the first of windows.
func (a *assigning) confirm(ctx context.Context, rec *record.Record[Assignment], etag string, change record.Change, f Flight, windows []Window) (done bool, err error) {
	var drone Versioned
	if len(windows) > 1 {
		if drone, err = a.drones.Read(ctx, f.Zone, f.DroneID); err != nil {
			return false, err
		}
	}
	// Judged by the time that the journal says: a change that took until the
	// pickup comes too late, and the next round says so.
	now := a.now()
	if pickedUp(rec, now) {
		return false, nil
	}
	left := rec.Content.Left
	rec.Needed = f.ArriveAt
	rec.Put(a.by, change, a.hash, "", Assignment{Ask: a.ask, Flight: f, Left: left}, now, a.cfg.Retention)
	if _, err = a.keeper.Store.Replace(ctx, a.id, *rec, etag); err != nil {
		return false, unlessLost(err)
	}
	if err := a.letAllGo(ctx, a.id, left); err != nil {
		return false, err
	}
	if len(windows) > 1 {
		err = a.trim(ctx, a.id, drone, windows[0])
	}
	return true, err
}

// unlessLost returns nil if another was quicker at the document, which the next
// round deals with, and else err.
func unlessLost(err error) error {
	if failure.Is(err, failure.Conflict) || failure.Is(err, failure.NotFound) {
		return nil
	}
	return err
}

// letAllGo frees the drones that are left.
func (s *Service) letAllGo(ctx context.Context, transactionID string, left []Left) error {
	for _, one := range left {
		if err := s.letGo(ctx, transactionID, one); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the drone to claim for w: that of the flight, or else the one
// that the assignment intends, if it is free of others, or else another one.
func (a *assigning) choose(ctx context.Context, rec *record.Record[Assignment], w Window) (Versioned, error) {
	var named []Candidate
	if rec.Live() {
		named = append(named, rec.Content.flown())
	}
	if c := rec.Content.Candidate; c != nil && !slices.Contains(named, *c) {
		named = append(named, *c)
	}
	for _, c := range named {
		v, err := a.drones.Read(ctx, c.Zone, c.DroneID)
		if failure.Is(err, failure.NotFound) {
			continue
		}
		if err != nil {
			return Versioned{}, err
		}
		if v.Drone.FreeFor(a.id, w, a.now()) {
			return v, nil
		}
	}
	return a.fleet.pick(ctx, a.cfg.zoneOf(a.ask.Pickup), a.id, w)
}
