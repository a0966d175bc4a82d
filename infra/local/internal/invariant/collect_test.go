package invariant_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The names in local.settings.json.
const (
	database          = "fabrikam"
	transactionsQueue = "transactions"
	compensations     = "compensations"
)

var freePorts = system.Addresses{HTTP: "127.0.0.1:0", AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}

// services are running emulators, and the adapters' database in them.
type services struct {
	*testing.T
	source invariant.Source
	db     *cosmosdb.Database
	second *cosmosdb.Database // of the second shard
}

func startServices(t *testing.T) *services {
	t.Helper()
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	e, err := system.StartServices(t.Context(), project, system.EmulatorsConfig{
		Addresses: freePorts, Shards: 2, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close the emulators: %v", err)
		}
	})
	s := &services{T: t, source: invariant.Source{
		CosmosDB: e.CosmosDB(), Database: database, ServiceBus: e.ServiceBus(), Queues: []string{transactionsQueue, compensations},
	}}
	further := s.source
	further.Shard, further.Database, further.Queues = 2, database+"-2", []string{transactionsQueue + "-2"}
	s.source.Further = []invariant.Source{further}
	for database, db := range map[string]**cosmosdb.Database{s.source.Database: &s.db, further.Database: &s.second} {
		*db, err = cosmosdb.Open(cosmosdb.Connection{ConnectionString: e.CosmosDB()}, cosmosdb.Options{Database: database})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	return s
}

// must returns the value of a call that must not fail.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// store writes documents, some at a time.
func store[V any](t *testing.T, all []V, write func(context.Context, V) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for _, v := range all {
		group.Go(func() error { return write(ctx, v) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func storeRecords[V any](s *services, container string, all []record.Record[V]) {
	s.Helper()
	records := record.Over[record.Record[V]](s.db.Container(container))
	store(s.T, all, func(ctx context.Context, r record.Record[V]) error {
		_, err := records.Create(ctx, r.ID, r)
		return err
	})
}

// write stores a snapshot with the adapters that the app has.
func (s *services) write(snapshot invariant.Scene) {
	s.Helper()
	transactions, elsewhere := cosmosdb.NewTransactions(s.db), cosmosdb.NewTransactions(s.second)
	store(s.T, snapshot.Transactions, func(ctx context.Context, p workflow.Progress) error {
		in := transactions
		if slices.Contains(snapshot.Further[0].Transactions, p.ID) {
			in = elsewhere
		}
		_, err := in.Create(ctx, &p)
		return err
	})
	requests := cosmosdb.NewRequests(s.db)
	store(s.T, snapshot.Requests, func(ctx context.Context, r ingest.RequestRecord) error {
		_, err := requests.CreateIfAbsent(ctx, r)
		return err
	})
	outside := cosmosdb.NewOutsideOperations(s.db)
	store(s.T, snapshot.Outside, func(ctx context.Context, o workflow.OutsideOperation) error { return outside.Create(ctx, o) })
	kept := cosmosdb.NewQuarantine(s.db)
	store(s.T, snapshot.Quarantine, func(ctx context.Context, e quarantine.Entry) error { return kept.Put(ctx, e) })
	accounts := record.Over[account.Account](s.db.Container(delivery.AccountsContainer))
	store(s.T, snapshot.Accounts, func(ctx context.Context, a account.Account) error {
		_, err := accounts.Create(ctx, a.ID, a)
		return err
	})
	drones := drone.Over(s.db.Container(delivery.DronesContainer))
	store(s.T, snapshot.Drones, func(ctx context.Context, d drone.Drone) error { return drones.Create(ctx, d) })
	storeRecords(s, delivery.PackagesContainer, snapshot.Packages)
	storeRecords(s, delivery.BookingsContainer, snapshot.Bookings)
	storeRecords(s, delivery.AssignmentsContainer, snapshot.Assignments)
	storeRecords(s, delivery.DeliveriesContainer, snapshot.Deliveries)
}

// fill puts messages into the deliveries queue: some now, some for later, and
// moves the first one to the dead letters.
func (s *services) fill(now, later int) {
	s.Helper()
	sender := must(messaging.OpenSender(messaging.Connection{ConnectionString: s.source.ServiceBus}, messaging.Options{}))
	defer func() {
		if err := sender.Close(context.Background()); err != nil {
			s.Error(err)
		}
	}()
	var messages []engine.Queued
	for n := range now + later {
		m := engine.Queued{Queue: transactionsQueue, MessageID: fmt.Sprint(n), Body: []byte("x")}
		if n >= now {
			m.At = time.Now().Add(time.Hour)
		}
		messages = append(messages, m)
	}
	if err := sender.Send(s.Context(), messages...); err != nil {
		s.Fatal(err)
	}
	client := must(azservicebus.NewClientFromConnectionString(s.source.ServiceBus, nil))
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			s.Error(err)
		}
	}()
	receiver := must(client.NewReceiverForQueue(transactionsQueue, nil))
	received, err := receiver.ReceiveMessages(s.Context(), 1, nil)
	if err != nil {
		s.Fatal(err)
	}
	if err := receiver.DeadLetterMessage(s.Context(), received[0], nil); err != nil {
		s.Fatal(err)
	}
}

// stray puts a message for the first shard into a queue of the second.
func (s *services) stray() {
	s.Helper()
	sender := must(messaging.OpenSender(messaging.Connection{ConnectionString: s.source.ServiceBus}, messaging.Options{}))
	defer func() {
		if err := sender.Close(context.Background()); err != nil {
			s.Error(err)
		}
	}()
	body := must(engine.Envelope{TransactionID: "far", Wake: 1}.Encode())
	if err := sender.Send(s.Context(), engine.Queued{Queue: transactionsQueue + "-2", MessageID: "stray", Body: body}); err != nil {
		s.Fatal(err)
	}
}

// sameSnapshot compares what is stored, in any order.
func sameSnapshot(t *testing.T, want invariant.Scene, collected invariant.Snapshot) {
	t.Helper()
	got := invariant.SceneOf(t, collected)
	for _, s := range []*invariant.Scene{&want, &got} {
		s.Records, s.Others = nil, nil
		s.Now, s.Ledger, s.Poison, s.UndoRefused, s.Notifications = time.Time{}, nil, nil, nil, false
		s.Documents, s.Answers = nil, nil // of the documents see checkDocuments
		for i := range s.Further {
			slices.Sort(s.Further[i].Transactions)
		}
		by(s.Transactions, func(p workflow.Progress) string { return p.ID })
		by(s.Requests, func(r ingest.RequestRecord) string { return r.ID })
		by(s.Outside, func(o workflow.OutsideOperation) string { return o.ID })
		by(s.Quarantine, func(e quarantine.Entry) string { return e.ID })
		by(s.Accounts, func(a account.Account) string { return a.ID })
		by(s.Drones, func(d drone.Drone) string { return d.ID })
		byID(s.Packages)
		byID(s.Bookings)
		byID(s.Assignments)
		byID(s.Deliveries)
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(invariant.Scene{})); diff != "" {
		t.Errorf("not collected as it was stored (-want +got):\n%s", diff)
	}
}

func by[V any](all []V, key func(V) string) {
	slices.SortFunc(all, func(a, b V) int { return cmp.Compare(key(a), key(b)) })
}

func byID[V any](all []record.Record[V]) { by(all, func(r record.Record[V]) string { return r.ID }) }

// checkDocuments wants the size of every document: that of its content, and of
// what the service adds to it.
func checkDocuments(t *testing.T, want invariant.Scene, got invariant.Snapshot) {
	t.Helper()
	const added = 1 << 10
	type place struct{ container, id string }
	sizes := map[place]int{}
	for _, d := range got.Documents {
		sizes[place{d.Container, d.ID}] = d.Bytes
	}
	for _, d := range want.Documents {
		if bytes := sizes[place{d.Container, d.ID}]; bytes < d.Bytes || bytes > d.Bytes+added {
			t.Errorf("%s %s has %d bytes, was stored with %d", d.Container, d.ID, bytes, d.Bytes)
		}
	}
	if bytes := sizes[place{cosmosdb.CheckpointsContainer, "relay"}]; bytes < 1 {
		t.Errorf("no size of a document that is not in the snapshot otherwise")
	}
	if n := len(want.Documents) + requests + 1; len(got.Documents) != n || len(sizes) != n {
		t.Errorf("the sizes of %d documents, want %d", len(got.Documents), n)
	}
}

// requests are how many there are besides, for many pages.
const requests = 1200

// Ensure everything that is stored is collected, over many pages, and judged as
// it was before it was stored.
func TestCollect(t *testing.T) {
	s := startServices(t)
	want := invariant.Valid(t)
	for n := range requests {
		want.Requests = append(want.Requests, ingest.RequestRecord{ID: fmt.Sprintf("r-%04d", n), TransactionID: "none", Operation: workflow.OperationCancel})
	}
	s.write(want)
	checkpoints := s.db.Container(cosmosdb.CheckpointsContainer)
	must(checkpoints.Create(t.Context(), "relay", "relay", []byte(`{"id":"relay"}`)))
	s.fill(301, 2)
	s.stray()
	want.Queues = []invariant.Queue{{Name: transactionsQueue, Active: 300, Scheduled: 2, DeadLetters: 1}, {Name: compensations}, {Name: transactionsQueue + "-2", Active: 1, Strangers: 1}}

	started := time.Now()
	got, err := invariant.TheSubject.Collect(t.Context(), s.source)
	if err != nil {
		t.Fatal(err)
	}
	if got.Now.Before(started) {
		t.Errorf("it is of %s, before it was taken", got.Now)
	}
	checkDocuments(t, want, got)
	got.Now = want.Now
	got.Ledger, got.Poison, got.UndoRefused, got.Notifications = want.Ledger, want.Poison, want.UndoRefused, true
	got.Answers = want.Answers
	r := invariant.TheSubject.Check(got)
	var broken []string
	for _, i := range r.Invariants {
		for _, v := range i.Violations {
			broken = append(broken, i.Name+" "+v.What+" "+v.ID)
		}
	}
	if !slices.Equal(broken, []string{"shards another shard's transactions-2", "deadletters dead letters transactions"}) {
		t.Errorf("broken: %v", broken)
	}
	sameSnapshot(t, want, got)
	again, err := invariant.TheSubject.Collect(t.Context(), s.source)
	if err != nil {
		t.Fatal(err)
	}
	sameSnapshot(t, want, again) // nothing was changed by looking
}

func TestCollectFails(t *testing.T) {
	s := startServices(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := invariant.TheSubject.Collect(ended, s.source); err == nil {
		t.Error("collected after the end of the context")
	}
	for name, spoil := range map[string]func(*invariant.Source){
		"no database":        func(src *invariant.Source) { src.Database = "" },
		"another database":   func(src *invariant.Source) { src.Database = "nowhere" },
		"no connection":      func(src *invariant.Source) { src.ServiceBus = "nonsense" },
		"another queue":      func(src *invariant.Source) { src.Queues = []string{"nowhere"} },
		"no Cosmos DB at it": func(src *invariant.Source) { src.CosmosDB = "nonsense" },
	} {
		src := s.source
		spoil(&src)
		if _, err := invariant.TheSubject.Collect(t.Context(), src); err == nil {
			t.Errorf("%s: collected", name)
		}
	}
	transactions := s.db.Container(cosmosdb.TransactionsContainer)
	if _, err := transactions.Create(t.Context(), "odd", "odd", []byte(`{"id":"odd","steps":"none"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := invariant.TheSubject.Collect(t.Context(), s.source); err == nil || !strings.Contains(err.Error(), "transactions") {
		t.Errorf("with an unreadable document: %v", err)
	}
}
