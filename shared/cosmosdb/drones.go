package cosmosdb

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/drone"
)

// Drones implements drone.Store. The partition key is the zone.
type Drones struct{ c *Container }

var _ drone.Store = (*Drones)(nil)

// NewDrones returns the store of the drones.
func NewDrones(db *Database) (*Drones, error) {
	c, err := db.Container(DronesContainer)
	return &Drones{c}, err
}

// Read returns a drone.
func (s *Drones) Read(ctx context.Context, zone, id string) (drone.Versioned, error) {
	var v drone.Versioned
	doc, etag, err := s.c.Read(ctx, zone, id)
	if err != nil {
		return v, err
	}
	v.ETag = etag
	err = decode(doc, &v.Drone, "read drone", id)
	return v, err
}

// Create stores a new drone.
func (s *Drones) Create(ctx context.Context, d drone.Drone) error {
	doc, err := encode(d, "create drone", d.ID)
	if err != nil {
		return err
	}
	_, err = s.c.Create(ctx, d.Zone, d.ID, doc)
	return err
}

// Replace stores a drone that was read with etag.
func (s *Drones) Replace(ctx context.Context, d drone.Drone, etag string) error {
	doc, err := encode(d, "replace drone", d.ID)
	if err != nil {
		return err
	}
	_, err = s.c.Replace(ctx, d.Zone, d.ID, doc, etag)
	return err
}

// freePage is how many free drones a page has: enough for concurrent searches to
// choose different ones, and few, since a search needs one.
const freePage = 32

// Free returns a page of a zone's free drones.
func (s *Drones) Free(ctx context.Context, zone string, now time.Time, continuation string) ([]drone.Versioned, string, error) {
	return s.page(ctx, Query{
		Text:         "SELECT * FROM c WHERE c.busyUntil <= @now",
		Parameters:   map[string]any{"@now": now.UnixMilli()},
		PartitionKey: &zone, Continuation: continuation, Max: freePage,
	})
}

// Zone returns a page of a zone's drones. Invalid for a continuation that no page
// gave.
func (s *Drones) Zone(ctx context.Context, zone, continuation string) ([]drone.Versioned, string, error) {
	return s.page(ctx, Query{Text: "SELECT * FROM c", PartitionKey: &zone, Continuation: continuation})
}

func (s *Drones) page(ctx context.Context, q Query) ([]drone.Versioned, string, error) {
	docs, next, err := s.c.list(ctx, q)
	if err != nil {
		return nil, "", err
	}
	drones := make([]drone.Versioned, len(docs))
	for i, doc := range docs {
		var stored struct {
			drone.Drone
			ETag string `json:"_etag"`
		}
		if err := decode(doc, &stored, "read drone", ""); err != nil {
			return nil, "", err
		}
		drones[i] = drone.Versioned{Drone: stored.Drone, ETag: stored.ETag}
	}
	return drones, next, nil
}
