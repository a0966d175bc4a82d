package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// found is what is known of a transaction.
type found struct {
	shard    shard.Number
	progress *workflow.Progress // nil if there is no document
	// Without a document: when it was accepted, or why nobody knows of it.
	at      time.Time
	unknown error
}

// find looks for a transaction where it is, on behalf of a caller. The error says why
// that can't be told.
func (k Known) find(ctx context.Context, id, caller string) (found, error) {
	in, _, err := k.place(ctx, id, caller)
	for err == nil {
		p, missing := k.read(ctx, in, id)
		if !failure.Is(missing, failure.NotFound) {
			return found{shard: in, progress: p}, missing
		}
		if k.Shards.closed(ctx, in) { // nothing is on its way to it
			return found{shard: in, unknown: missing}, nil
		}
		at, now, unknown := k.accepted(ctx, id, caller)
		if unknown != nil || now == in {
			return found{shard: in, at: at, unknown: unknown}, nil
		}
		in = now // it was placed by who has a newer map
	}
	return found{}, err
}

// place returns the shard of an id, and whether that is for good: the id says it, or its
// entry in the directory does. What has no entry may be in the first one. It fails with
// the kind NotFound for an id that says what can't be.
func (k Known) place(ctx context.Context, id, caller string) (in shard.Number, placed bool, err error) {
	if in, minted := shard.Claimed(id); minted {
		if in == shard.First || !k.forged(id, caller) {
			return in, true, nil
		}
		if m, _ := k.Shards.Map(ctx); m.Has(in) {
			return in, true, nil // as good as any other place to look for a document
		}
		return 0, false, failure.New(failure.NotFound, "find transaction", id, errors.New("it names a shard that isn't there, and was not minted for this caller"))
	}
	if k.Shards.alone(ctx) {
		return shard.First, false, nil
	}
	if in, ok := k.Shards.recall(id); ok {
		return in, true, nil
	}
	r, err := k.Requests.Read(ctx, id)
	switch {
	case failure.Is(err, failure.NotFound):
		return shard.First, false, nil
	case err != nil:
		return 0, false, err
	}
	k.Shards.remember(id, r.Shard)
	return r.Shard.OrFirst(), true, nil
}

// Where returns the shard of a transaction whose document isn't in this app's own, for who may see all
// of them. It fails with the kind NotFound if neither the id nor the directory says it.
func (k Known) Where(ctx context.Context, id string) (shard.Number, error) {
	in, placed, err := k.place(ctx, id, "")
	if err == nil && !placed {
		err = failure.New(failure.NotFound, "find transaction", id, nil)
	}
	return in, err
}

// at returns the shard in which a document may be. NotFound for a closed one whose last
// document has expired: it may have been taken away.
func (k Known) at(ctx context.Context, in shard.Number, id string) (*Stamp, error) {
	if s := k.Shards.of(ctx, in); s.State == shard.Closed && k.Now().After(s.ClosedAt.Add(k.Lasting())) {
		return nil, failure.New(failure.NotFound, "find transaction", id, fmt.Errorf("nothing is left of shard %d", in))
	}
	return k.Shards.At(ctx, in)
}

// read returns the document of a transaction in a shard. NotFound if there is none.
func (k Known) read(ctx context.Context, in shard.Number, id string) (*workflow.Progress, error) {
	at, err := k.at(ctx, in, id)
	if err != nil {
		return nil, err
	}
	p, _, err := at.Transactions.Read(ctx, id)
	return p, err
}

// maxPlaces bounds what is remembered of the places of clients' ids: twice as many.
const maxPlaces = 50_000

// places are those of ids that clients chose. They never change. The zero value is empty;
// it is safe for concurrent use.
type places struct {
	mu         sync.Mutex
	young, old map[string]shard.Number
}

// remember keeps the place of an id, if there is more than one.
func (s *Shards) remember(id string, in shard.Number) {
	if c := s.current.Load(); c == nil || len(c.m.Shards) == 1 {
		return
	}
	p := &s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.young) >= maxPlaces || p.young == nil {
		p.young, p.old = map[string]shard.Number{}, p.young
	}
	p.young[id] = in.OrFirst()
}

// recall returns the place of an id that is remembered.
func (s *Shards) recall(id string) (shard.Number, bool) {
	p := &s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if in, ok := p.young[id]; ok {
		return in, true
	}
	in, ok := p.old[id]
	return in, ok
}
