package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// adapters are the ports on everything outside.
type adapters struct {
	ports
	closers []func(context.Context) error
}

// gapGroup is the consumer group in which Relay reads what its trigger has
// skipped. Every hub has it, and settings keep the trigger away from it.
const gapGroup = "$Default"

// openAdapters makes the connections that the functions which run here need;
// the others stay nil, and nothing is there that could call them. None of them
// waits for the other side.
func openAdapters(b business.Business, s settings.Settings, logger *slog.Logger, observed observe.Signals) (_ *adapters, err error) {
	a := &adapters{ports: ports{signals: observed, now: clock(s.ClockOffset)}}
	a.report = operate.NewReporter(telemetry.Process(), a.now)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.Background()))
		}
	}()
	var identities auth.Identities
	if s.EventHubs.Used() {
		if err := a.openEventHubs(s, &identities); err != nil {
			return nil, err
		}
	}
	if s.ServiceBus.Used() {
		if err := a.openServiceBus(s, &identities); err != nil {
			return nil, err
		}
	}
	if err := a.openCosmosDB(s, &identities); err != nil {
		return nil, err
	}
	if err := a.openBackends(s, &identities); err != nil {
		return nil, err
	}
	a.stamp = func(of shard.Shard) (stamp, error) { return a.openStamp(s, &identities, of.Endpoints) }
	return a, a.openTold(b, s, logger)
}

func (a *adapters) openEventHubs(s settings.Settings, identities *auth.Identities) error {
	c, err := messagingAt(s.EventHubs, identities)
	if err != nil {
		return err
	}
	producer, err := openProducer(s, c, s.EventHub)
	if err != nil {
		return err
	}
	a.producer, a.closers = producer, append(a.closers, producer.Close)
	reader, err := messaging.OpenReader(c, s.EventHub, gapGroup, messaging.Options{Application: telemetry.Process()})
	if err != nil {
		return err
	}
	a.reader, a.closers = reader, append(a.closers, reader.Close)
	if s.Functions.Has("Operations") || s.Functions.Has("Sweep") {
		storage, err := messagingAt(s.Storage, identities)
		if err != nil {
			return err
		}
		a.triggers = messaging.OpenTriggers(storage, c, messaging.Options{Application: telemetry.Process()})
	}
	a.check("eventHubs", func(ctx context.Context) error { return messaging.ReachHub(ctx, c, s.EventHub) })
	return nil
}

func (a *adapters) openServiceBus(s settings.Settings, identities *auth.Identities) error {
	c, err := messagingAt(s.ServiceBus, identities)
	if err != nil {
		return err
	}
	sender, err := messaging.OpenSender(c, messaging.Options{Application: telemetry.Process()})
	if err != nil {
		return err
	}
	a.sender, a.undeliverable, a.closers = sender, sender.DrainUndeliverable, append(a.closers, sender.Close)
	manager, err := messaging.OpenManager(c, messaging.Options{Application: telemetry.Process()})
	if err != nil {
		return err
	}
	a.queues = func(ctx context.Context) ([]operate.QueueCount, error) { return manager.Queues(ctx, s.Queues()...) }
	a.check("serviceBus", func(ctx context.Context) error { return messaging.ReachQueues(ctx, c, s.Queues()...) })
	return nil
}

func (a *adapters) openCosmosDB(s settings.Settings, identities *auth.Identities) error {
	var database *cosmosdb.Database
	if s.CosmosDB.Used() {
		var err error
		if database, err = a.openDatabase(s.CosmosDB, s.Database, identities, func(ctx context.Context, t cosmosdb.Try) {
			a.report.Tried(t.Throttled())
			a.signals.Tried(ctx, t)
		}); err != nil {
			return err
		}
		a.closing(database.Close)
		a.check("cosmosDB", database.Ping)
	}
	a.stores = openStores(database)
	return nil
}

func (a *adapters) openDatabase(c settings.Connection, name string, identities *auth.Identities, tried func(context.Context, cosmosdb.Try)) (*cosmosdb.Database, error) {
	credential, err := credentialOf(identities, c)
	if err != nil {
		return nil, err
	}
	return cosmosdb.Open(cosmosdb.Connection{
		ConnectionString: c.ConnectionString.Reveal(), Endpoint: c.Address, Credential: credential,
	}, cosmosdb.Options{Database: name, Observe: tried, Application: telemetry.Process()})
}

func openProducer(s settings.Settings, c messaging.Connection, hub string) (*messaging.Producer, error) {
	return messaging.OpenProducer(c, hub, messaging.Options{Timeout: s.Budgets.Accept, Application: telemetry.Process()})
}

// openStamp opens another shard, with the identity of this app.
func (a *adapters) openStamp(s settings.Settings, identities *auth.Identities, e shard.Endpoints) (stamp, error) {
	hubs, err := elsewhere(s.EventHubs, e.EventHubs)
	if err != nil {
		return stamp{}, err
	}
	account, err := elsewhere(s.CosmosDB, e.CosmosDB)
	if err != nil {
		return stamp{}, err
	}
	c, err := messagingAt(hubs, identities)
	if err != nil {
		return stamp{}, err
	}
	producer, err := openProducer(s, c, e.Hub)
	if err != nil {
		return stamp{}, err
	}
	database, err := a.openDatabase(account, e.Database, identities, a.signals.Tried) // its own app tells of its throttling
	if err != nil {
		return stamp{}, errors.Join(err, producer.Close(context.Background()))
	}
	reach := func(ctx context.Context) error { return messaging.ReachHub(ctx, c, e.Hub) }
	return stamp{stores: openStores(database), producer: producer, reachHub: reach, reachDatabase: database.Ping, close: func(ctx context.Context) error {
		database.Close()
		return producer.Close(ctx)
	}}, nil
}

// elsewhere returns the connection to a service at another address; "" is the same.
func elsewhere(c settings.Connection, address string) (settings.Connection, error) {
	if address == "" {
		return c, nil
	}
	if c.ConnectionString.Set() {
		return c, fmt.Errorf("%s is reached by an identity alone, and this app has a connection string", address)
	}
	c.Address = address
	return c, nil
}

// openBackends makes the client of the backends, whose calls carry tokens if the
// settings name whom these are for.
func (a *adapters) openBackends(s settings.Settings, identities *auth.Identities) error {
	b := s.Backends
	c := backendclient.Config{
		Backends: b.URLs, Header: http.Header{"User-Agent": {telemetry.Process()}}, CallTimeout: s.Budgets.Call,
		Concurrency: b.Concurrency, Metrics: a.signals.Metrics,
	}
	if b.Key.Set() {
		c.Header.Set("X-Functions-Key", b.Key.Reveal())
	}
	if b.Audience != "" {
		credential, err := identities.Credential(auth.Identity{Managed: b.ClientID != "", ClientID: b.ClientID})
		if err != nil {
			return fmt.Errorf("credential for the backends: %w", err)
		}
		tokens := auth.NewTokens(credential, b.Audience, time.Now)
		a.closing(tokens.Close)
		c.Token = tokens.Token
	}
	client, err := backendclient.New(c, time.Now)
	if err != nil {
		return err
	}
	a.backends = client
	a.closing(client.Close)
	return nil
}

// check adds a question that only the service itself can answer.
func (a *adapters) check(name string, ask func(context.Context) error) {
	a.checks = append(a.checks, customhandler.Check{Name: name, Ask: ask})
}

func (a *adapters) closing(close func()) {
	a.closers = append(a.closers, func(context.Context) error { close(); return nil })
}

// close closes the connections that were opened, the last first.
func (a *adapters) close(ctx context.Context) error {
	var errs []error
	for _, close := range slices.Backward(a.closers) {
		errs = append(errs, close(ctx))
	}
	return errors.Join(errs...)
}

// messagingAt returns a connection to a namespace.
func messagingAt(c settings.Connection, identities *auth.Identities) (messaging.Connection, error) {
	credential, err := credentialOf(identities, c)
	return messaging.Connection{ConnectionString: c.ConnectionString.Reveal(), Namespace: c.Address, Credential: credential}, err
}

// credentialOf returns the credential of a connection, nil for a connection string.
func credentialOf(identities *auth.Identities, c settings.Connection) (azcore.TokenCredential, error) {
	if c.ConnectionString.Set() {
		return nil, nil
	}
	credential, err := identities.Credential(auth.Identity{Managed: c.Credential != "", ClientID: c.ClientID})
	if err != nil {
		return nil, fmt.Errorf("credential for %s: %w", c, err)
	}
	return credential, nil
}
