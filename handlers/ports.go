package main

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ports are what the services stand on. In the handler they are adapters; the
// tests have them in memory.
type ports struct {
	stores
	producer ingest.Producer
	// stamp opens another shard than this app's.
	stamp    func(shard.Shard) (stamp, error)
	reader   relay.Reader
	triggers relay.Triggers
	sender   engine.Sender
	queues   func(context.Context) ([]operate.QueueCount, error)
	// undeliverable moves the dead letters of a queue that no function can be
	// given, and returns how many it has moved. See messaging.Sender.
	undeliverable func(ctx context.Context, queue string, keep func(context.Context, quarantine.Received) error) (int, error)
	backends      engine.Backends
	receiver      notify.Receiver   // nil when nobody is to be told
	mailer        notify.Mailer     // nil when no people are
	report        *operate.Reporter // of this instance
	checks        []customhandler.Check
	signals       observe.Signals
	now           func() time.Time
}

// stamp is another shard, for the front.
type stamp struct {
	stores
	producer                       ingest.Producer
	reachHub, reachDatabase, close func(context.Context) error
}

// stores are the containers of the database.
type stores struct {
	transactions workflow.Store
	listing      operate.Listing // of the transactions
	lasting      ingest.Lasting
	requests     ingest.Requests
	outside      engine.Outside // beside the requests
	checkpoints  relay.Checkpoints
	quarantine   quarantine.Store
	maps         ingest.Maps
	told         operate.Told
	counter      operate.Counter
	// documents returns a container of the business.
	documents func(container string) business.Documents
}

// openStores returns the stores of a database.
func openStores(db *cosmosdb.Database) stores {
	transactions, told := cosmosdb.NewTransactions(db), cosmosdb.NewTold(db)
	return stores{
		transactions: transactions, listing: transactions, lasting: transactions, requests: cosmosdb.NewRequests(db), outside: cosmosdb.NewOutsideOperations(db),
		checkpoints: cosmosdb.NewCheckpoints(db), quarantine: cosmosdb.NewQuarantine(db), maps: cosmosdb.NewMaps(db), told: told, counter: told,
		documents: func(container string) business.Documents { return db.Container(container) },
	}
}
