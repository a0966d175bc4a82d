package workload

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// Services reach past the app: to put poison where only a faulty
// producer could put it, and to count what an operator would see. Close must
// be called.
type Services struct {
	producer   *messaging.Producer
	sender     *messaging.Sender // nil without a Service Bus
	database   *cosmosdb.Database
	quarantine *cosmosdb.Quarantine
}

// Target says where the services are, by connection strings and names.
type Target struct {
	EventHubs, EventHub string
	ServiceBus          string // "" if nothing is sent there
	CosmosDB, Database  string
}

// OpenServices connects to the services of a running system.
func OpenServices(t Target) (*Services, error) {
	s := &Services{}
	var err error
	s.producer, err = messaging.OpenProducer(messaging.Connection{ConnectionString: t.EventHubs}, t.EventHub, messaging.Options{})
	if err != nil {
		return nil, err
	}
	if t.ServiceBus != "" {
		s.sender, err = messaging.OpenSender(messaging.Connection{ConnectionString: t.ServiceBus}, messaging.Options{})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.database, err = cosmosdb.Open(cosmosdb.Connection{ConnectionString: t.CosmosDB}, cosmosdb.Options{Database: t.Database})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.quarantine = cosmosdb.NewQuarantine(s.database)
	return s, nil
}

// Poison puts an unreadable event on the hub.
func (s *Services) Poison(ctx context.Context) error {
	return s.Put(ctx, []byte("\xffnot an envelope"))
}

// Put puts an event on the hub, in a partition that depends on its body. After
// an error it may be there.
func (s *Services) Put(ctx context.Context, body []byte) error {
	partitions, err := s.producer.Partitions(ctx)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	h.Write(body) // never fails
	return s.producer.Send(ctx, partitions[int(h.Sum32())%len(partitions)], []ingest.Event{{Body: body}})
}

// PutInto puts a message into a queue, once, however often that is repeated. After
// an error it may be there.
func (s *Services) PutInto(ctx context.Context, queue string, body []byte) error {
	h := fnv.New64a()
	h.Write(body) // never fails
	return s.sender.Send(ctx, engine.Queued{Queue: queue, MessageID: "poison-" + strconv.FormatUint(h.Sum64(), 16), Body: body})
}

// Quarantined counts the entries of the quarantine.
func (s *Services) Quarantined(ctx context.Context) (int, error) {
	count := 0
	for next := ""; ; {
		entries, after, err := s.quarantine.Page(ctx, quarantine.Filter{}, next)
		if err != nil {
			return 0, err
		}
		count += len(entries)
		if next = after; next == "" {
			return count, nil
		}
	}
}

// Close closes the connections.
func (s *Services) Close() error {
	err := s.producer.Close(context.Background())
	if s.sender != nil {
		err = errors.Join(err, s.sender.Close(context.Background()))
	}
	if s.database != nil {
		s.database.Close()
	}
	return err
}
