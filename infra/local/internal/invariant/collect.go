package invariant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Source says where a running system keeps what is collected.
type Source struct {
	CosmosDB   string   // connection string
	Database   string   // its id
	ServiceBus string   // connection string
	Queues     []string // names
	// Shard is whose that is, 0 for the first, and Further are the other ones: the
	// first has them.
	Shard   shard.Number
	Further []Source
}

// The bounds of a collection: pages of so many documents, some containers at a
// time.
const (
	collectPage     = 500
	collectParallel = 4
)

// Collect reads everything that is stored in all shards, and counts what waits in the queues.
// It changes nothing. The system has to be at rest: the containers are read one
// after the other, and the documents of one in no order. Now is when all was
// read, by this machine's clock. The caller adds the fields that the clients
// know.
func (subject *Subject) Collect(ctx context.Context, src Source) (Snapshot, error) {
	s, err := subject.collect(ctx, src)
	for i := 0; i < len(src.Further) && err == nil; i++ {
		var further Snapshot
		if further, err = subject.collect(ctx, src.Further[i]); err == nil {
			s.join(src.Further[i].Shard, further)
		}
	}
	return s, err
}

// collect reads what is stored in one shard.
func (subject *Subject) collect(ctx context.Context, src Source) (Snapshot, error) {
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: src.CosmosDB}, cosmosdb.Options{Database: src.Database})
	if err != nil {
		return Snapshot{}, fmt.Errorf("collect: %w", err)
	}
	defer db.Close()
	var s Snapshot
	if src.Shard.IsZero() {
		if s.Map, _, err = cosmosdb.NewMaps(db).Read(ctx); failure.Is(err, failure.NotFound) {
			s.Map = nil
		} else if err != nil {
			return s, fmt.Errorf("collect: %w", err)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(collectParallel)
	group.Go(func() (err error) {
		s.Queues, err = countQueues(groupCtx, src)
		return err
	})
	takers := map[string]taker{
		cosmosdb.TransactionsContainer: into(&s.Transactions),
		cosmosdb.RequestsContainer:     takeRequest(into(&s.Requests), into(&s.Outside)),
		cosmosdb.QuarantineContainer:   into(&s.Quarantine),
	}
	containers := subject.containers()
	records := make([][]record.Record[json.RawMessage], len(containers))
	others := make([][]json.RawMessage, len(containers))
	for i, c := range containers {
		takers[c.Name] = into(&others[i])
		if c.Effects {
			takers[c.Name] = into(&records[i])
		}
	}
	names := subject.Containers()
	sizes := make([][]Document, len(names))
	for i, name := range names {
		group.Go(func() (err error) {
			sizes[i], err = readAll(groupCtx, db, name, takers[name])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Snapshot{}, fmt.Errorf("collect: %w", err)
	}
	s.Records, s.Others = map[string][]record.Record[json.RawMessage]{}, map[string][]json.RawMessage{}
	for i, c := range containers {
		if c.Effects {
			s.Records[c.Name] = records[i]
		} else {
			s.Others[c.Name] = others[i]
		}
	}
	s.Documents = slices.Concat(sizes...)
	s.Now = time.Now().UTC()
	return s, nil
}

// taker takes one document of a container into a snapshot.
type taker func(id string, doc []byte) error

// takeRequest tells the requests from the operations that lie beside them.
func takeRequest(request, operation taker) taker {
	return func(id string, doc []byte) error {
		if strings.HasPrefix(id, workflow.OutsidePrefix) {
			return operation(id, doc)
		}
		return request(id, doc)
	}
}

// into returns the taker of a container whose documents are of one type. Only
// the goroutine of that container uses it.
func into[T any](all *[]T) taker {
	return func(_ string, doc []byte) error {
		var v T
		if err := json.Unmarshal(doc, &v); err != nil {
			return err
		}
		*all = append(*all, v)
		return nil
	}
}

// readAll reads all documents of a container, page by page, and returns what
// each of them takes. take is nil if their content does not matter.
func readAll(ctx context.Context, db *cosmosdb.Database, container string, take taker) ([]Document, error) {
	c := db.Container(container)
	var sizes []Document
	q := business.Query{Text: "SELECT * FROM c", Max: collectPage}
	for {
		docs, next, err := c.Page(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			var named struct{ ID string }
			err := json.Unmarshal(doc, &named)
			if err == nil && take != nil {
				err = take(named.ID, doc)
			}
			if err != nil {
				return nil, fmt.Errorf("document of %s: %w", container, err)
			}
			sizes = append(sizes, Document{Container: container, ID: named.ID, Bytes: len(doc)})
		}
		if next == "" {
			return sizes, nil
		}
		q.Continuation = next
	}
}
