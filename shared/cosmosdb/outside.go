package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// OutsideOperations keeps the operations that are on record outside of their
// transactions, beside the requests: it implements engine.Outside and
// ingest.Outside.
type OutsideOperations struct{ c *Container }

var (
	_ engine.Outside = (*OutsideOperations)(nil)
	_ ingest.Outside = (*OutsideOperations)(nil)
)

// NewOutsideOperations returns the store of those operations.
func NewOutsideOperations(db *Database) *OutsideOperations {
	return &OutsideOperations{db.Container(RequestsContainer)}
}

// Create stores an operation unless it is there already.
func (s *OutsideOperations) Create(ctx context.Context, o workflow.OutsideOperation) error {
	_, err := business.Create(ctx, s.c, o.ID, o.ID, o)
	if failure.Is(err, failure.Conflict) {
		return nil
	}
	return err
}

// Read returns an operation by its OperationID.
func (s *OutsideOperations) Read(ctx context.Context, operationID string) (workflow.OutsideOperation, error) {
	id := workflow.OutsideID(operationID)
	o, _, err := business.Read[workflow.OutsideOperation](ctx, s.c, id, id)
	return o, err
}
