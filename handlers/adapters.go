package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// adapters are the connections to everything outside.
type adapters struct {
	settings   settings.Settings
	signals    observe.Signals
	eventHubs  messaging.Connection
	serviceBus messaging.Connection

	producer *messaging.Producer
	reader   *messaging.Reader
	sender   *messaging.Sender
	database *cosmosdb.Database
	tokens   *auth.Tokens // for the backends; nil when they want none
	backends *backendclient.Client
	receiver *notify.Webhook // nil when nobody is to be told
}

// gapGroup is the consumer group in which Relay reads what its trigger has
// skipped. Every hub has it, and settings keep the trigger away from it.
const gapGroup = "$Default"

// openAdapters makes the connections that the functions which run here need;
// the others stay nil, and nothing is there that could call them. None of them
// waits for the other side.
func openAdapters(b business.Business, s settings.Settings, logger *slog.Logger, observed observe.Signals) (_ *adapters, err error) {
	a := &adapters{settings: s, signals: observed}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.Background()))
		}
	}()
	var identities auth.Identities
	if s.EventHubs.Used() {
		if err := a.openEventHubs(&identities); err != nil {
			return nil, err
		}
	}
	if s.ServiceBus.Used() {
		if err := a.openServiceBus(&identities); err != nil {
			return nil, err
		}
	}
	if s.CosmosDB.Used() {
		if err := a.openCosmosDB(&identities); err != nil {
			return nil, err
		}
	}
	if a.tokens, err = openTokens(s, &identities); err != nil {
		return nil, err
	}
	if a.backends, err = openBackends(s, a.tokens, observed.Metrics); err != nil {
		return nil, err
	}
	a.receiver, err = openReceiver(b, s, logger)
	return a, err
}

func (a *adapters) openEventHubs(identities *auth.Identities) error {
	s := a.settings
	credential, err := credentialOf(identities, s.EventHubs)
	if err != nil {
		return err
	}
	a.eventHubs = messaging.Connection{
		ConnectionString: s.EventHubs.ConnectionString.Reveal(), Namespace: s.EventHubs.Address, Credential: credential,
	}
	if a.producer, err = messaging.OpenProducer(a.eventHubs, s.EventHub, messaging.Options{Timeout: s.Budgets.Accept, Application: telemetry.Process()}); err != nil {
		return err
	}
	a.reader, err = messaging.OpenReader(a.eventHubs, s.EventHub, gapGroup, messaging.Options{Application: telemetry.Process()})
	return err
}

func (a *adapters) openServiceBus(identities *auth.Identities) error {
	s := a.settings
	credential, err := credentialOf(identities, s.ServiceBus)
	if err != nil {
		return err
	}
	a.serviceBus = messaging.Connection{
		ConnectionString: s.ServiceBus.ConnectionString.Reveal(), Namespace: s.ServiceBus.Address, Credential: credential,
	}
	a.sender, err = messaging.OpenSender(a.serviceBus, messaging.Options{Application: telemetry.Process()})
	return err
}

func (a *adapters) openCosmosDB(identities *auth.Identities) error {
	s := a.settings
	credential, err := credentialOf(identities, s.CosmosDB)
	if err != nil {
		return err
	}
	a.database, err = cosmosdb.Open(cosmosdb.Connection{
		ConnectionString: s.CosmosDB.ConnectionString.Reveal(), Endpoint: s.CosmosDB.Address, Credential: credential,
	}, cosmosdb.Options{Database: s.Database, Observe: a.signals.Tried, Application: telemetry.Process()})
	return err
}

// openTokens returns the tokens that go with the calls to the backends, nil if
// none do.
func openTokens(s settings.Settings, identities *auth.Identities) (*auth.Tokens, error) {
	b := s.Backends
	if b.Audience == "" {
		return nil, nil
	}
	credential, err := identities.Credential(auth.Identity{Managed: b.ClientID != "", ClientID: b.ClientID})
	if err != nil {
		return nil, fmt.Errorf("credential for the backends: %w", err)
	}
	return auth.NewTokens(credential, b.Audience, time.Now), nil
}

func openBackends(s settings.Settings, tokens *auth.Tokens, m *telemetry.Metrics) (*backendclient.Client, error) {
	b := s.Backends
	var token func(context.Context) (string, error)
	if tokens != nil {
		token = tokens.Token
	}
	header := http.Header{"User-Agent": {telemetry.Process()}}
	if b.Key.Set() {
		header.Set("X-Functions-Key", b.Key.Reveal())
	}
	return backendclient.New(backendclient.Config{
		Backends: b.URLs, Header: header, Token: token, CallTimeout: s.Budgets.Call, Concurrency: b.Concurrency, Metrics: m,
	}, time.Now)
}

// checks ask the services what only they can answer.
func (a *adapters) checks() []customhandler.Check {
	var checks []customhandler.Check
	s := a.settings
	if s.EventHubs.Used() {
		checks = append(checks, customhandler.Check{Name: "eventHubs", Ask: func(ctx context.Context) error { return messaging.ReachHub(ctx, a.eventHubs, s.EventHub) }})
	}
	if s.ServiceBus.Used() {
		checks = append(checks, customhandler.Check{Name: "serviceBus", Ask: func(ctx context.Context) error { return messaging.ReachQueues(ctx, a.serviceBus, s.Queues()...) }})
	}
	if s.CosmosDB.Used() {
		checks = append(checks, customhandler.Check{Name: "cosmosDB", Ask: a.database.Ping})
	}
	return checks
}

// close closes the connections that were opened.
func (a *adapters) close(ctx context.Context) error {
	var errs []error
	if a.backends != nil {
		a.backends.Close()
	}
	if a.tokens != nil {
		a.tokens.Close()
	}
	if a.receiver != nil {
		a.receiver.Close()
	}
	if a.producer != nil {
		errs = append(errs, a.producer.Close(ctx))
	}
	if a.reader != nil {
		errs = append(errs, a.reader.Close(ctx))
	}
	if a.sender != nil {
		errs = append(errs, a.sender.Close(ctx))
	}
	if a.database != nil {
		a.database.Close()
	}
	return errors.Join(errs...)
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
