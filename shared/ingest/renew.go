package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// An entry that alone says where a client's id is outlives every document of the id; see
// docs/adr/0032-the-end-of-a-shard.md.
const (
	// renewEvery is how often the transactions are looked for that last.
	renewEvery    = 6 * time.Hour
	renewParallel = 16
)

// Lasting finds the transactions of a shard whose end nobody can foretell.
type Lasting interface {
	// Lasting returns a page of the transactions accepted before an instant that are being
	// undone or are Stuck, and the continuation of the next page, "" after the last.
	Lasting(ctx context.Context, before workflow.Instant, continuation string) (ids []string, next string, err error)
}

// places reports whether the entry alone says where its transaction is.
func (r RequestRecord) places() bool {
	return r.ID == r.TransactionID && !r.Shard.IsZero() && !shard.Formed(r.ID)
}

// keepFor sets how long the entry lives from now on.
func (r *RequestRecord) keepFor(d time.Duration, now time.Time) {
	r.KeptUntil, r.TTL = now.Add(d).UTC(), int(d/time.Second)
}

// Lasting is how long an entry is kept from now: what is accepted now may be changed for Ahead,
// its document is kept for Keep after that, and there is as much for how long it may run,
// and until the next renewal.
func (k Known) Lasting() time.Duration { return k.Ahead + 3*k.Keep }

// over reports whether an entry stands for a place alone: its request is as old as
// one that is forgotten.
func (k Known) over(r RequestRecord) bool {
	return r.places() && r.AcceptedAt.Add(k.Keep).Before(k.Now())
}

// recent returns a request that was kept, and not so long ago that it is forgotten.
func (k Known) recent(ctx context.Context, id string) (RequestRecord, error) {
	r, err := k.Requests.Read(ctx, id)
	if err == nil && k.over(r) {
		err = failure.New(failure.NotFound, "look for request", id, errors.New("it is forgotten"))
	}
	return r, err
}

// outlast has the entry of an id outlive its transaction, which goes on from now. What was
// accepted lately needs no look.
func (k Known) outlast(ctx context.Context, id string, in shard.Number, acceptedAt time.Time) error {
	spare := k.Keep / 2
	if in.IsZero() || shard.Formed(id) || acceptedAt.After(k.Now().Add(-spare)) {
		return nil
	}
	_, err := failure.Update[RequestRecord]{
		Op: "renew the entry", ID: id, Lost: 1,
		Read: func(ctx context.Context) (*RequestRecord, string, error) {
			r, err := k.Requests.Read(ctx, id)
			return &r, r.ETag, err
		},
		Change: func(r *RequestRecord) (bool, error) {
			if r.KeptUntil.After(k.Now().Add(k.Lasting() - spare)) {
				return false, nil
			}
			r.keepFor(k.Lasting(), k.Now())
			return true, nil
		},
		Write: func(ctx context.Context, r *RequestRecord, _ string) error { return k.Requests.Replace(ctx, *r) },
	}.Do(ctx)
	if err != nil {
		return fmt.Errorf("renew the entry of %s: %w", id, err)
	}
	return nil
}

// RenewPlaces renews the entries of the ids whose transactions last, in all shards but the first,
// whose entries need not last. It does so at most every six hours; what fails is done
// again by the next call.
func (s *Service) RenewPlaces(ctx context.Context) error {
	k := s.c.Known
	now := k.Now()
	if at := s.renewed.Load(); at != nil && now.Sub(*at) < renewEvery {
		return nil
	}
	k.Shards.refresh(ctx, now.Add(-renewEvery))
	m, _ := k.Shards.Map(ctx)
	var errs []error
	for _, of := range m.Shards {
		if of.Number.IsZero() || of.State == shard.Closed { // where nothing lasts
			continue
		}
		if err := k.renewIn(ctx, of.Number); err != nil {
			errs = append(errs, fmt.Errorf("renew the entries of shard %d: %w", of.Number, err))
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		s.renewed.Store(&now)
	}
	return err
}

func (k Known) renewIn(ctx context.Context, n shard.Number) error {
	in, err := k.Shards.At(ctx, n)
	if err != nil {
		return err
	}
	before := workflow.At(k.Now().Add(-k.Keep / 2)) // what is younger needs no renewal
	for next := ""; ; {
		var ids []string
		if ids, next, err = in.Lasting.Lasting(ctx, before, next); err != nil {
			return err
		}
		var group errgroup.Group
		group.SetLimit(renewParallel)
		for _, id := range ids {
			group.Go(func() error {
				if shard.Formed(id) {
					return nil
				}
				p, _, err := in.Transactions.Read(ctx, id)
				if failure.Is(err, failure.NotFound) {
					return nil
				} else if err != nil {
					return err
				}
				return k.outlast(ctx, id, n, p.AcceptedAt.Time)
			})
		}
		if err := group.Wait(); err != nil || next == "" {
			return err
		}
	}
}
