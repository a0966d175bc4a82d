package drone

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// cellDegrees is the size of the grid's cells: about 11 km from south to north.
const cellDegrees = 0.1

// zoneName returns the name of a zone by its number, from 0.
func zoneName(number int) string { return fmt.Sprintf("zone-%03d", number) }

// zoneOf returns the zone of a location: that of its cell in a grid over the
// earth. It depends on nothing but the location and the number of zones.
func (c Config) zoneOf(at value.Location) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%d", int(math.Floor(at.Latitude/cellDegrees)), int(math.Floor(at.Longitude/cellDegrees)))
	return zoneName(int(h.Sum32() % uint32(c.Zones)))
}

// zonesFrom returns all zones: first, and the others in the order of their
// numbers behind it.
func (c Config) zonesFrom(first string) []string {
	zones := make([]string, 0, c.Zones)
	start := 0
	for n := range c.Zones {
		if zoneName(n) == first {
			start = n
		}
	}
	for n := range c.Zones {
		zones = append(zones, zoneName((start+n)%c.Zones))
	}
	return zones
}

// dronesOf returns the ids of a zone's drones.
func (c Config) dronesOf(zone string) []string {
	var ids []string
	for n := range c.Drones {
		if zoneName(n%c.Zones) == zone {
			ids = append(ids, fmt.Sprintf("%s-%05d", zone, n/c.Zones))
		}
	}
	return ids
}

// zoneOfDrone returns the zone that a drone's id names.
func zoneOfDrone(id string) (zone string, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i <= 0 {
		return "", false
	}
	return id[:i], true
}

// fleet creates the drones that are missing, each zone once per process. It is
// safe for concurrent use.
type fleet struct {
	cfg   Config
	store Store
	zones map[string]*zoneState // fixed
}

type zoneState struct {
	ready atomic.Bool
	turn  chan struct{} // one place: one at a time creates
}

func newFleet(cfg Config, store Store) *fleet {
	f := &fleet{cfg: cfg, store: store, zones: make(map[string]*zoneState, cfg.Zones)}
	for n := range cfg.Zones {
		f.zones[zoneName(n)] = &zoneState{turn: make(chan struct{}, 1)}
	}
	return f
}

// ensure creates what is missing of a zone, unless this process has seen it
// complete. An error leaves the rest to the next call.
func (f *fleet) ensure(ctx context.Context, zone string) error {
	state := f.zones[zone]
	if state.ready.Load() {
		return nil
	}
	select {
	case state.turn <- struct{}{}:
		defer func() { <-state.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the drones of %s: %w", zone, ctx.Err())
	}
	if state.ready.Load() {
		return nil
	}
	if err := f.create(ctx, zone); err != nil {
		return err
	}
	state.ready.Store(true)
	return nil
}

// creators bounds how many drones are created at a time.
const creators = 16

func (f *fleet) create(ctx context.Context, zone string) error {
	have := map[string]bool{}
	if err := f.each(ctx, zone, func(v Versioned) { have[v.Drone.ID] = true }); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, id := range f.cfg.dronesOf(zone) {
		if have[id] {
			continue
		}
		group.Go(func() error {
			err := f.store.Create(ctx, Drone{ID: id, Zone: zone})
			if err != nil && !failure.Is(err, failure.Conflict) {
				return fmt.Errorf("create drone %s: %w", id, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// each calls visit with every drone of a zone.
func (f *fleet) each(ctx context.Context, zone string, visit func(Versioned)) error {
	for continuation := ""; ; {
		page, next, err := f.store.Zone(ctx, zone, continuation)
		if err != nil {
			return fmt.Errorf("list drones of %s: %w", zone, err)
		}
		for _, v := range page {
			visit(v)
		}
		if next == "" {
			return nil
		}
		continuation = next
	}
}
