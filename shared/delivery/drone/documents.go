package drone

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// documents is a Store over the documents of a container whose partition key is
// the zone.
type documents struct{ business.Documents }

// Over returns the store of the drones over the documents of a container whose
// partition key is /zone.
func Over(docs business.Documents) Store { return documents{docs} }

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

func (s documents) Read(ctx context.Context, zone, id string) (Versioned, error) {
	d, _, err := business.Read[stored](ctx, s.Documents, zone, id)
	return d.versioned(), err
}

func (s documents) Create(ctx context.Context, d Drone) error {
	_, err := business.Create(ctx, s.Documents, d.Zone, d.ID, d)
	return err
}

func (s documents) Replace(ctx context.Context, d Drone, etag string) error {
	_, err := business.Replace(ctx, s.Documents, d.Zone, d.ID, d, etag)
	return err
}

// freePage is how many free drones a page has: enough for concurrent searches to
// choose different ones, and few, since a search needs one.
const freePage = 32

func (s documents) Free(ctx context.Context, zone string, w Window, continuation string) ([]Versioned, string, error) {
	return s.page(ctx, business.Query{
		Text:         "SELECT * FROM c WHERE c.busyUntil <= @from OR c.gap >= @length",
		Parameters:   map[string]any{"@from": w.From, "@length": w.Until - w.From},
		PartitionKey: &zone, Continuation: continuation, Max: freePage,
	})
}

func (s documents) Zone(ctx context.Context, zone, continuation string) ([]Versioned, string, error) {
	return s.page(ctx, business.Query{Text: "SELECT * FROM c", PartitionKey: &zone, Continuation: continuation})
}

func (s documents) page(ctx context.Context, q business.Query) ([]Versioned, string, error) {
	found, next, err := business.Page[stored](ctx, s.Documents, q)
	page := make([]Versioned, len(found))
	for i, d := range found {
		page[i] = d.versioned()
	}
	return page, next, err
}
