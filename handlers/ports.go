package main

import (
	"context"
	"errors"
	"time"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ports are what the services stand on. In the handler they are adapters; the
// tests have them in memory.
type ports struct {
	stores
	producer ingest.Producer
	reader   relay.Reader
	sender   engine.Sender
	// undeliverable moves the dead letters of a queue that no function can be
	// given, and returns how many it has moved. See messaging.Sender.
	undeliverable func(ctx context.Context, queue string, keep func(context.Context, quarantine.Message) error) (int, error)
	caller        engine.Caller
	receiver      notify.Receiver // nil when nobody is to be told
	checks        []check
	signals       signals
	now           func() time.Time
}

// stores are the containers of the database.
type stores struct {
	transactions workflow.Store
	listing      operate.Listing // of the transactions
	requests     ingest.Requests
	outside      engine.Outside // beside the requests
	checkpoints  relay.Checkpoints
	quarantine   quarantine.Store
	accounts     record.Store[account.Account]
	packages     record.Store[record.Record[parcel.Content]]
	bookings     record.Store[record.Record[transportation.Booking]]
	assignments  record.Store[record.Record[drone.Assignment]]
	deliveries   record.Store[record.Record[deliveries.Content]]
	drones       drone.Store
}

// openStores returns the stores of a database.
func openStores(db *cosmosdb.Database) (stores, error) {
	var s stores
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	s.transactions = open(note, db, cosmosdb.NewTransactions)
	s.listing = open(note, db, cosmosdb.NewTransactions)
	s.requests = open(note, db, cosmosdb.NewRequests)
	s.outside = open(note, db, cosmosdb.NewOutsideOperations)
	s.checkpoints = open(note, db, cosmosdb.NewCheckpoints)
	s.quarantine = open(note, db, cosmosdb.NewQuarantine)
	s.drones = open(note, db, cosmosdb.NewDrones)
	s.accounts = openRecords[account.Account](note, db, cosmosdb.AccountsContainer)
	s.packages = openRecords[record.Record[parcel.Content]](note, db, cosmosdb.PackagesContainer)
	s.bookings = openRecords[record.Record[transportation.Booking]](note, db, cosmosdb.BookingsContainer)
	s.assignments = openRecords[record.Record[drone.Assignment]](note, db, cosmosdb.AssignmentsContainer)
	s.deliveries = openRecords[record.Record[deliveries.Content]](note, db, cosmosdb.DeliveriesContainer)
	return s, errors.Join(errs...)
}

func open[S any](note func(error), db *cosmosdb.Database, make func(*cosmosdb.Database) (S, error)) S {
	s, err := make(db)
	note(err)
	return s
}

func openRecords[T any](note func(error), db *cosmosdb.Database, container string) *cosmosdb.Records[T] {
	s, err := cosmosdb.NewRecords[T](db, container)
	note(err)
	return s
}

// ports returns the adapters as ports.
func (a *adapters) ports(now func() time.Time) ports {
	p := ports{
		stores: a.stores, producer: a.producer, reader: a.reader, sender: a.sender, caller: a.backends, now: now, checks: a.checks(),
	}
	if a.sender != nil {
		p.undeliverable = a.sender.DrainUndeliverable
	}
	if a.receiver != nil { // a nil pointer would be a receiver
		p.receiver = a.receiver
	}
	return p
}
