package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// Quarantine implements quarantine.Store.
type Quarantine struct{ c *Container }

var _ quarantine.Store = (*Quarantine)(nil)

// NewQuarantine returns the store of the quarantine.
func NewQuarantine(db *Database) *Quarantine { return &Quarantine{db.Container(QuarantineContainer)} }

// Put stores an entry unless it is there already.
func (s *Quarantine) Put(ctx context.Context, e quarantine.Entry) error {
	_, err := business.Create(ctx, s.c, e.Source, e.ID, e)
	if failure.Is(err, failure.Conflict) {
		return nil
	}
	return err
}

// Read returns an entry and its ETag.
func (s *Quarantine) Read(ctx context.Context, source, id string) (quarantine.Entry, string, error) {
	return business.Read[quarantine.Entry](ctx, s.c, source, id)
}

// Replace stores an entry that was read with etag.
func (s *Quarantine) Replace(ctx context.Context, e quarantine.Entry, etag string) error {
	_, err := business.Replace(ctx, s.c, e.Source, e.ID, e, etag)
	return err
}

// entryWithoutBody projects an entry to all but its body and its properties.
const entryWithoutBody = "c.id, c.source, c.sequenceNumber, c.reason, c.detail, c.transactionId, c.messageId, c.at, c.state, c.acts, c.ttl"

// Page returns a page of entries.
func (s *Quarantine) Page(ctx context.Context, f quarantine.Filter, continuation string) ([]quarantine.Entry, string, error) {
	return business.Page[quarantine.Entry](ctx, s.c, entriesQuery(f, continuation))
}

func entriesQuery(f quarantine.Filter, continuation string) business.Query {
	q := business.Query{Text: "SELECT * FROM c", Continuation: continuation, Parameters: map[string]any{}}
	if f.WithoutBodies {
		q.Text = "SELECT " + entryWithoutBody + " FROM c"
	}
	if f.Source != "" {
		q.PartitionKey = &f.Source
	}
	word := " WHERE "
	for _, field := range []struct{ name, value string }{
		{"reason", f.Reason}, {"transactionId", f.TransactionID}, {"state", string(f.State)},
	} {
		if field.value == "" {
			continue
		}
		q.Text += word + "c." + field.name + " = @" + field.name
		q.Parameters["@"+field.name] = field.value
		word = " AND "
	}
	return q
}
