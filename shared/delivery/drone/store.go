package drone

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// Drone is one drone as it is stored: partition key Zone, id ID.
type Drone struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// Holds are the times for which the drone is set aside, in the order of
	// From, maxHolds at most. Those of different transactions don't overlap; a
	// transaction has a second one while its flight is being changed. What is
	// over stays until the next write.
	Holds []Hold `json:"holds,omitempty"`
	// BusyUntil and Gap are made of Holds for the query for free drones, in Unix
	// milliseconds and milliseconds: the end of the last hold (0 if there is
	// none), and the longest free time before that, seen from the last write.
	BusyUntil int64 `json:"busyUntil"`
	Gap       int64 `json:"gap,omitempty"`
}

// Versioned is a drone and the ETag that it was read with.
type Versioned struct {
	Drone Drone
	ETag  string
}

// stored is a drone as it lies in its document. Before drones had holds, a document
// named one transaction, which had the drone until busyUntil; the next write of it
// writes the hold that is made of that.
type stored struct {
	Drone
	ETag          string `json:"_etag"`
	TransactionID string `json:"transactionId"`
}

func (s stored) versioned() Versioned {
	if s.TransactionID != "" && s.BusyUntil > 0 && s.Holds == nil {
		s.Holds = []Hold{{TransactionID: s.TransactionID, Window: Window{Until: s.BusyUntil}}}
	}
	return Versioned{Drone: s.Drone, ETag: s.ETag}
}

// Store keeps the drones. It is safe for concurrent use. Its errors are those of the
// documents: any but those that are named here are transient and leave open whether a
// write took effect.
type Store struct{ docs business.Documents }

// Over returns the store of the drones over the documents of a container whose
// partition key is /zone.
func Over(docs business.Documents) Store { return Store{docs} }

// Read returns a drone. NotFound if there is none.
func (s Store) Read(ctx context.Context, zone, id string) (Versioned, error) {
	d, _, err := business.Read[stored](ctx, s.docs, zone, id)
	return d.versioned(), err
}

// Create stores a new drone. Conflict if the id is taken in its zone.
func (s Store) Create(ctx context.Context, d Drone) error {
	_, err := business.Create(ctx, s.docs, d.Zone, d.ID, d)
	return err
}

// Replace stores d if the document's ETag is still etag. Conflict if it is not,
// NotFound if the document is gone.
func (s Store) Replace(ctx context.Context, d Drone, etag string) error {
	_, err := business.Replace(ctx, s.docs, d.Zone, d.ID, d, etag)
	return err
}

// freePage is how many free drones a page has: as many requests share its cost. Of more,
// others would have taken some before they are handed out.
const freePage = 32

// Free returns a page of the zone's drones whose ids aren't below from and that may be
// free for w: all that are, and few others. They are in no order. The continuation of
// the next page is "" after the last; a page may be empty and still have one.
func (s Store) Free(ctx context.Context, zone string, w Window, from, continuation string) ([]Versioned, string, error) {
	return s.page(ctx, business.Query{
		Text:         "SELECT * FROM c WHERE c.id >= @id AND (c.busyUntil <= @from OR c.gap >= @length)",
		Parameters:   map[string]any{"@id": from, "@from": w.From, "@length": w.Until - w.From},
		PartitionKey: &zone, Continuation: continuation, Max: freePage,
	})
}

// Zone returns a page of all the zone's drones, in the same manner.
func (s Store) Zone(ctx context.Context, zone, continuation string) ([]Versioned, string, error) {
	return s.page(ctx, business.Query{Text: "SELECT * FROM c", PartitionKey: &zone, Continuation: continuation})
}

func (s Store) page(ctx context.Context, q business.Query) ([]Versioned, string, error) {
	found, next, err := business.Page[stored](ctx, s.docs, q)
	page := make([]Versioned, len(found))
	for i, d := range found {
		page[i] = d.versioned()
	}
	return page, next, err
}
