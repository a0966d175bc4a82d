package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
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
	doc, _, err := s.c.Read(ctx, zone, id)
	if err != nil {
		return drone.Versioned{}, err
	}
	return versioned(doc, id)
}

// versioned reads a document. Before drones had holds, a document named one
// transaction, which had the drone until busyUntil; the next write of it writes
// the hold that is made of that.
func versioned(doc []byte, id string) (drone.Versioned, error) {
	var stored struct {
		drone.Drone
		ETag          string `json:"_etag"`
		TransactionID string `json:"transactionId"`
	}
	if err := decode(doc, &stored, "read drone", id); err != nil {
		return drone.Versioned{}, err
	}
	if stored.TransactionID != "" && stored.BusyUntil > 0 && stored.Holds == nil {
		stored.Holds = []drone.Hold{{TransactionID: stored.TransactionID, Window: drone.Window{Until: stored.BusyUntil}}}
	}
	return drone.Versioned{Drone: stored.Drone, ETag: stored.ETag}, nil
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

// Free returns a page of a zone's drones that may be free for a time.
func (s *Drones) Free(ctx context.Context, zone string, w drone.Window, continuation string) ([]drone.Versioned, string, error) {
	return drones(s.c.Page(ctx, Query{
		Text:         "SELECT * FROM c WHERE c.busyUntil <= @from OR c.gap >= @length",
		Parameters:   map[string]any{"@from": w.From, "@length": w.Until - w.From},
		PartitionKey: &zone, Continuation: continuation, Max: freePage,
	}))
}

// Zone returns a page of a zone's drones. Invalid for a continuation that no page
// gave.
func (s *Drones) Zone(ctx context.Context, zone, continuation string) ([]drone.Versioned, string, error) {
	return drones(s.c.list(ctx, Query{Text: "SELECT * FROM c", PartitionKey: &zone, Continuation: continuation}))
}

// drones reads a page of documents.
func drones(docs [][]byte, next string, err error) ([]drone.Versioned, string, error) {
	if err != nil {
		return nil, "", err
	}
	page := make([]drone.Versioned, len(docs))
	for i, doc := range docs {
		if page[i], err = versioned(doc, ""); err != nil {
			return nil, "", err
		}
	}
	return page, next, nil
}
