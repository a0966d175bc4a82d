package invariant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
)

// Source says where a running system keeps what is collected.
type Source struct {
	CosmosDB   string   // connection string
	Database   string   // its id
	ServiceBus string   // connection string
	Queues     []string // names
}

// The bounds of a collection: pages of so many documents, some containers at a
// time.
const (
	collectPage     = 500
	collectParallel = 4
)

// Collect reads everything that is stored, and counts what waits in the queues.
// It changes nothing. The system has to be at rest: the containers are read one
// after the other, and the documents of one in no order. Now is when all was
// read, by this machine's clock. The caller adds the fields that the clients
// know.
func Collect(ctx context.Context, src Source) (Snapshot, error) {
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: src.CosmosDB}, cosmosdb.Options{Database: src.Database})
	if err != nil {
		return Snapshot{}, fmt.Errorf("collect: %w", err)
	}
	defer db.Close()
	var s Snapshot
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(collectParallel)
	group.Go(func() (err error) {
		s.Queues, err = countQueues(groupCtx, src)
		return err
	})
	collect(groupCtx, group, db, cosmosdb.TransactionsContainer, &s.Transactions)
	collect(groupCtx, group, db, cosmosdb.RequestsContainer, &s.Requests)
	collect(groupCtx, group, db, cosmosdb.QuarantineContainer, &s.Quarantine)
	collect(groupCtx, group, db, cosmosdb.AccountsContainer, &s.Accounts)
	collect(groupCtx, group, db, cosmosdb.PackagesContainer, &s.Packages)
	collect(groupCtx, group, db, cosmosdb.BookingsContainer, &s.Bookings)
	collect(groupCtx, group, db, cosmosdb.AssignmentsContainer, &s.Assignments)
	collect(groupCtx, group, db, cosmosdb.DronesContainer, &s.Drones)
	collect(groupCtx, group, db, cosmosdb.DeliveriesContainer, &s.Deliveries)
	if err := group.Wait(); err != nil {
		return Snapshot{}, fmt.Errorf("collect: %w", err)
	}
	s.Now = time.Now().UTC()
	return s, nil
}

// collect reads all documents of a container, page by page. Only its own
// goroutine uses into.
func collect[T any](ctx context.Context, group *errgroup.Group, db *cosmosdb.Database, container string, into *[]T) {
	group.Go(func() error {
		c, err := db.Container(container)
		if err != nil {
			return err
		}
		q := cosmosdb.Query{Text: "SELECT * FROM c", Max: collectPage}
		for {
			docs, next, err := c.Page(ctx, q)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				var v T
				if err := json.Unmarshal(doc, &v); err != nil {
					return fmt.Errorf("document of %s: %w", container, err)
				}
				*into = append(*into, v)
			}
			if next == "" {
				return nil
			}
			q.Continuation = next
		}
	})
}
