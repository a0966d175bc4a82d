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

func (s documents) Read(ctx context.Context, zone, id string) (Versioned, error) {
	doc, _, err := s.Documents.Read(ctx, zone, id)
	if err != nil {
		return Versioned{}, err
	}
	return versioned(doc, id)
}

// versioned reads a document. Before drones had holds, a document named one
// transaction, which had the drone until busyUntil; the next write of it writes
// the hold that is made of that.
func versioned(doc []byte, id string) (Versioned, error) {
	var stored struct {
		Drone
		ETag          string `json:"_etag"`
		TransactionID string `json:"transactionId"`
	}
	if err := business.Decode(doc, &stored, "read drone", id); err != nil {
		return Versioned{}, err
	}
	if stored.TransactionID != "" && stored.BusyUntil > 0 && stored.Holds == nil {
		stored.Holds = []Hold{{TransactionID: stored.TransactionID, Window: Window{Until: stored.BusyUntil}}}
	}
	return Versioned{Drone: stored.Drone, ETag: stored.ETag}, nil
}

func (s documents) Create(ctx context.Context, d Drone) error {
	doc, err := business.Encode(d, "create drone", d.ID)
	if err != nil {
		return err
	}
	_, err = s.Documents.Create(ctx, d.Zone, d.ID, doc)
	return err
}

func (s documents) Replace(ctx context.Context, d Drone, etag string) error {
	doc, err := business.Encode(d, "replace drone", d.ID)
	if err != nil {
		return err
	}
	_, err = s.Documents.Replace(ctx, d.Zone, d.ID, doc, etag)
	return err
}

// freePage is how many free drones a page has: enough for concurrent searches to
// choose different ones, and few, since a search needs one.
const freePage = 32

func (s documents) Free(ctx context.Context, zone string, w Window, continuation string) ([]Versioned, string, error) {
	return pageOf(s.Documents.Page(ctx, business.Query{
		Text:         "SELECT * FROM c WHERE c.busyUntil <= @from OR c.gap >= @length",
		Parameters:   map[string]any{"@from": w.From, "@length": w.Until - w.From},
		PartitionKey: &zone, Continuation: continuation, Max: freePage,
	}))
}

func (s documents) Zone(ctx context.Context, zone, continuation string) ([]Versioned, string, error) {
	return pageOf(s.Documents.Page(ctx, business.Query{Text: "SELECT * FROM c", PartitionKey: &zone, Continuation: continuation}))
}

// pageOf reads a page of documents.
func pageOf(docs [][]byte, next string, err error) ([]Versioned, string, error) {
	if err != nil {
		return nil, "", err
	}
	page := make([]Versioned, len(docs))
	for i, doc := range docs {
		if page[i], err = versioned(doc, ""); err != nil {
			return nil, "", err
		}
	}
	return page, next, nil
}
