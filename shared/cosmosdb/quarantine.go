package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// Quarantine implements quarantine.Store.
type Quarantine struct{ c *Container }

var _ quarantine.Store = (*Quarantine)(nil)

// NewQuarantine returns the store of the quarantine.
func NewQuarantine(db *Database) (*Quarantine, error) {
	c, err := db.Container(QuarantineContainer)
	return &Quarantine{c}, err
}

// Put stores an entry unless it is there already.
func (s *Quarantine) Put(ctx context.Context, e quarantine.Entry) error {
	doc, err := encode(e, "put quarantine entry", e.ID)
	if err != nil {
		return err
	}
	_, err = s.c.Create(ctx, e.Source, e.ID, doc)
	if failure.Is(err, failure.Conflict) {
		return nil
	}
	return err
}

// Read returns an entry.
func (s *Quarantine) Read(ctx context.Context, source, id string) (quarantine.Entry, error) {
	var e quarantine.Entry
	doc, _, err := s.c.Read(ctx, source, id)
	if err != nil {
		return e, err
	}
	err = decode(doc, &e, "read quarantine entry", id)
	return e, err
}

// Page returns a page of entries.
func (s *Quarantine) Page(ctx context.Context, f quarantine.Filter, continuation string) ([]quarantine.Entry, string, error) {
	q := Query{Text: "SELECT * FROM c", Continuation: continuation}
	if f.Source != "" {
		q.PartitionKey = &f.Source
	}
	if f.Reason != "" {
		q.Text += " WHERE c.reason = @reason"
		q.Parameters = map[string]any{"@reason": f.Reason}
	}
	docs, next, err := s.c.Page(ctx, q)
	if err != nil {
		return nil, "", err
	}
	entries := make([]quarantine.Entry, len(docs))
	for i, doc := range docs {
		if err := decode(doc, &entries[i], "read quarantine entry", ""); err != nil {
			return nil, "", err
		}
	}
	return entries, next, nil
}
