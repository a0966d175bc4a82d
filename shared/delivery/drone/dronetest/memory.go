// Package dronetest is a drone.Store in memory for tests, with faults.
package dronetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// Memory is a drone.Store. Its documents are in Docs under zone/id; faults are
// set there. It is safe for concurrent use.
type Memory struct {
	Docs recordtest.Memory[drone.Drone]
}

var _ drone.Store = (*Memory)(nil)

func key(zone, id string) string { return zone + "/" + id }

// Read implements drone.Store.
func (m *Memory) Read(ctx context.Context, zone, id string) (drone.Versioned, error) {
	d, etag, err := m.Docs.Read(ctx, key(zone, id))
	return drone.Versioned{Drone: d, ETag: etag}, err
}

// Create implements drone.Store.
func (m *Memory) Create(ctx context.Context, d drone.Drone) error {
	_, err := m.Docs.Create(ctx, key(d.Zone, d.ID), d)
	return err
}

// Replace implements drone.Store.
func (m *Memory) Replace(ctx context.Context, d drone.Drone, etag string) error {
	_, err := m.Docs.Replace(ctx, key(d.Zone, d.ID), d, etag)
	return err
}

// Free implements drone.Store. The first page is empty, as pages may be, and
// its continuation belongs to its query, the window included, as with Cosmos DB.
func (m *Memory) Free(ctx context.Context, zone string, w drone.Window, continuation string) ([]drone.Versioned, string, error) {
	query := fmt.Sprint(w)
	switch continuation {
	case "":
		return nil, query, ctx.Err()
	case query:
		return m.page(ctx, zone, "0", func(d drone.Drone) bool { return d.MayFit(w) })
	}
	return nil, "", failure.New(failure.Permanent, "list free drones of", zone,
		fmt.Errorf("the continuation %s is of another query", continuation))
}

// Zone implements drone.Store.
func (m *Memory) Zone(ctx context.Context, zone, continuation string) ([]drone.Versioned, string, error) {
	return m.page(ctx, zone, continuation, func(drone.Drone) bool { return true })
}

// page reads the zone with all ETags. It takes the drones as they are one after
// the other, as a database's pages do.
func (m *Memory) page(ctx context.Context, zone, continuation string, match func(drone.Drone) bool) ([]drone.Versioned, string, error) {
	all, err := m.Docs.All()
	if err != nil {
		return nil, "", err
	}
	var found []drone.Versioned
	for id := range all {
		if !strings.HasPrefix(id, zone+"/") {
			continue
		}
		d, etag, err := m.Docs.Read(ctx, id)
		if err != nil {
			return nil, "", err
		}
		if match(d) {
			found = append(found, drone.Versioned{Drone: d, ETag: etag})
		}
	}
	slices.SortFunc(found, func(a, b drone.Versioned) int { return strings.Compare(a.Drone.ID, b.Drone.ID) })
	// What matches changes between two pages, so a page has them all.
	return recordtest.Cut(found, max(1, len(found)), continuation)
}
