package drone

import (
	"context"
	"errors"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// rounds bounds how many drones or documents one request may lose to others.
const rounds = 16

// errOutrun is the cause of an assignment that others were quicker at, each
// time.
var errOutrun = errors.New("others keep taking the drones")

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
	a := &assigning{Service: s, id: id, by: by, ask: ask, hash: hash}
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
	// claimed is the drone that this PUT has claimed and not yet confirmed.
	claimed *Candidate
}

// round reads the assignment and goes on with it as far as nobody interferes.
// It is done when the assignment is confirmed; otherwise, without an error,
// another was quicker at one of the two documents.
func (a *assigning) round(ctx context.Context) (rec record.Record[Assignment], change record.Change, done bool, err error) {
	rec, etag, err := a.keeper.Store.Read(ctx, a.id)
	exists := err == nil
	if err != nil {
		if !failure.Is(err, failure.NotFound) {
			return rec, "", false, err
		}
		rec = record.Record[Assignment]{ID: a.id}
	}
	change, refused := rec.Admit(a.by, a.hash)
	if err := a.letGo(ctx, &rec); err != nil {
		return rec, "", false, err
	}
	if refused != nil || change == "" {
		return rec, "", refused == nil, refused
	}
	if a.pickedUp(&rec) {
		done, err := a.putBack(ctx, &rec, etag, change)
		return rec, change, done, err
	}
	drone, err := a.choose(ctx, &rec)
	if err != nil {
		return rec, "", false, err
	}
	// The intent, always written after the drone was read.
	rec.Content.Candidate = &Candidate{drone.Drone.ID, drone.Drone.Zone}
	rec.Prune(a.now(), a.cfg.retention())
	if exists {
		etag, err = a.keeper.Store.Replace(ctx, a.id, rec, etag)
	} else {
		etag, err = a.keeper.Store.Create(ctx, a.id, rec)
	}
	if err != nil {
		return rec, "", false, unlessLost(err)
	}
	flight, hold := a.flight(&rec, drone.Drone)
	if ok, err := a.claim(ctx, drone, hold); err != nil || !ok {
		return rec, "", false, err
	}
	a.claimed = rec.Content.Candidate
	longer := hold.After(flight.ArriveAt)
	if longer {
		if drone, err = a.drones.Read(ctx, flight.Zone, flight.DroneID); err != nil {
			return rec, "", false, err
		}
	}
	rec.Put(a.by, change, a.hash, "", Assignment{Ask: a.ask, Flight: flight}, a.now(), a.cfg.retention())
	if _, err = a.keeper.Store.Replace(ctx, a.id, rec, etag); err != nil {
		return rec, "", false, unlessLost(err)
	}
	if longer {
		err = a.holdLess(ctx, drone, flight)
	}
	return rec, change, true, err
}

// unlessLost returns nil if another was quicker at the document, which the next
// round deals with, and else err.
func unlessLost(err error) error {
	if failure.Is(err, failure.Conflict) || failure.Is(err, failure.NotFound) {
		return nil
	}
	return err
}

// letGo frees the drone that this PUT has claimed, if the assignment turns out
// to be undone or to go on with another drone. That happens if another runner's
// clock is behind: it takes the candidate for busy when it is free here.
func (a *assigning) letGo(ctx context.Context, rec *record.Record[Assignment]) error {
	if a.claimed == nil {
		return nil
	}
	if _, buried := rec.Buried(a.id); !buried {
		candidate := rec.Content.Candidate
		if rec.Content.DroneID == a.claimed.DroneID || candidate != nil && candidate.DroneID == a.claimed.DroneID {
			return nil
		}
	}
	claimed := *a.claimed
	a.claimed = nil
	return a.release(ctx, a.id, claimed, false)
}

// choose returns the drone to claim: the one that the assignment names, if it is
// the transaction's or free, or else another free one.
func (a *assigning) choose(ctx context.Context, rec *record.Record[Assignment]) (Versioned, error) {
	var named []Candidate
	if rec.Content.Candidate != nil {
		named = append(named, *rec.Content.Candidate)
	}
	if rec.Live() {
		named = append(named, Candidate{rec.Content.DroneID, rec.Content.Flight.Zone})
	}
	for _, c := range named {
		v, err := a.drones.Read(ctx, c.Zone, c.DroneID)
		if failure.Is(err, failure.NotFound) {
			continue
		}
		if err != nil {
			return Versioned{}, err
		}
		if v.Drone.TransactionID == a.id || v.Drone.Free(a.now()) {
			return v, nil
		}
	}
	return a.pick(ctx, a.cfg.zoneOf(a.ask.Pickup))
}

// claim makes the drone the transaction's until the given time. It reports
// false if another was quicker.
func (a *assigning) claim(ctx context.Context, v Versioned, until time.Time) (bool, error) {
	d := v.Drone
	d.TransactionID, d.BusyUntil = a.id, until.UnixMilli()
	a.hints.take(d.ID, a.now())
	err := a.drones.Replace(ctx, d, v.ETag)
	if err == nil {
		return true, nil
	}
	return false, unlessLost(err)
}
