package drone

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// fleet finds free drones, and creates those that are missing, each zone once per
// process. It is safe for concurrent use.
type fleet struct {
	cfg   Config
	store Store
	now   func() time.Time
	zones map[string]*zone // by name; fixed

	mu    sync.Mutex
	until time.Time     // until when no drone is looked for
	none  Window        // in none, for which none was free
	retry time.Duration // the answer in the meantime
}

func newFleet(cfg Config, store Store, now func() time.Time) *fleet {
	f := &fleet{cfg: cfg, store: store, now: now, zones: make(map[string]*zone, cfg.Zones)}
	for n := range cfg.Zones {
		name := zoneName(n)
		f.zones[name] = &zone{name: name, turn: make(chan struct{}, 1), out: map[string]bool{}}
	}
	return f
}

// zone returns a zone whose drones are all there. NotFound if there is no such zone.
func (f *fleet) zone(ctx context.Context, name string) (*zone, error) {
	z := f.zones[name]
	if z == nil {
		return nil, failure.New(failure.NotFound, "look for zone", name, nil)
	}
	if err := z.enter(ctx); err != nil {
		return nil, err
	}
	defer z.leave()
	return z, f.complete(ctx, z)
}

// creators bounds how many drones are created at a time.
const creators = 16

// complete creates what is missing of a zone, unless this process has seen it
// complete. An error leaves the rest to the next call. The caller has the zone's
// turn.
func (f *fleet) complete(ctx context.Context, z *zone) error {
	if z.complete {
		return nil
	}
	have := map[string]bool{}
	if err := f.each(ctx, z.name, func(d Drone) { have[d.ID] = true }); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, id := range f.cfg.dronesOf(z.name) {
		if have[id] {
			continue
		}
		group.Go(func() error {
			err := f.store.Create(ctx, Drone{ID: id, Zone: z.name})
			if err != nil && !failure.Is(err, failure.Conflict) {
				return fmt.Errorf("create drone %s: %w", id, err)
			}
			return nil
		})
	}
	err := group.Wait()
	z.complete = err == nil
	return err
}

// each calls visit with every drone of a zone.
func (f *fleet) each(ctx context.Context, zone string, visit func(Drone)) error {
	for continuation := ""; ; {
		page, next, err := f.store.Zone(ctx, zone, continuation)
		if err != nil {
			return fmt.Errorf("list drones of %s: %w", zone, err)
		}
		for _, v := range page {
			visit(v.Drone)
		}
		if next == "" {
			return nil
		}
		continuation = next
	}
}
