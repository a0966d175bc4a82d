package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Addresses are where things listen: host:port, port 0 for a free one.
type Addresses struct {
	HTTP, AMQP, Cosmos string
}

// DefaultAddresses are the ports that the tools of Azure use.
var DefaultAddresses = Addresses{HTTP: "127.0.0.1:7071", AMQP: "127.0.0.1:5672", Cosmos: "127.0.0.1:8081"}

// Emulators are Event Hubs, Service Bus and Cosmos DB with the entities that
// the app's settings name.
type Emulators struct {
	Broker *broker.Broker

	listeners struct{ amqp, cosmos net.Listener }
	amqp      *amqp.Server
	cosmos    *cosmos.Server
	http      *http.Server
	serving   sync.WaitGroup
	failed    chan error
}

// StartServices starts the emulators for the app whose local.settings.json is
// in dir. Close must be called.
func StartServices(ctx context.Context, dir string, at Addresses, logger *slog.Logger) (*Emulators, error) {
	env, err := newEnvironment(dir, nil)
	if err != nil {
		return nil, err
	}
	s, err := env.settings()
	if err != nil {
		return nil, err
	}
	return StartEmulators(ctx, at, s, logger)
}

// StartEmulators listens and makes the entities. It returns when everything is
// ready. Close must be called.
func StartEmulators(ctx context.Context, at Addresses, s settings.Settings, logger *slog.Logger) (*Emulators, error) {
	e := &Emulators{failed: make(chan error, 2)}
	if err := e.start(ctx, at, s, logger); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Emulators) start(ctx context.Context, at Addresses, s settings.Settings, logger *slog.Logger) error {
	var err error
	if e.listeners.amqp, err = listen(at.AMQP, "-amqp"); err != nil {
		return err
	}
	if e.listeners.cosmos, err = listen(at.Cosmos, "-cosmos"); err != nil {
		return err
	}
	if e.Broker, err = broker.New(entities(s), store.NewMemory(), logger); err != nil {
		return fmt.Errorf("start the message emulators: %w", err)
	}
	e.amqp = amqp.NewServer(e.Broker, amqp.Options{Logger: logger})
	if e.cosmos, err = cosmos.New(cosmos.Config{Key: cosmos.EmulatorKey, Logger: logger}, store.NewMemory()); err != nil {
		return fmt.Errorf("start the Cosmos DB emulator: %w", err)
	}
	e.http = &http.Server{Handler: e.cosmos, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	e.serve("Service Bus and Event Hubs", func() error { return e.amqp.Serve(e.listeners.amqp) })
	e.serve("Cosmos DB", func() error { return e.http.Serve(e.listeners.cosmos) })
	client, err := azcosmos.NewClientFromConnectionString(e.CosmosDB(), nil)
	if err != nil {
		return fmt.Errorf("connect to the Cosmos DB emulator: %w", err)
	}
	defer client.Close()
	return createContainers(ctx, client, s.Database, cosmosdb.Containers)
}

func (e *Emulators) serve(name string, run func() error) {
	e.serving.Go(func() {
		err := run()
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, amqp.ErrServerClosed) {
			e.failed <- fmt.Errorf("%s: %w", name, err)
		}
	})
}

// Failed gives an error when a listener breaks.
func (e *Emulators) Failed() <-chan error { return e.failed }

// ServiceBus returns the connection string of both message services.
func (e *Emulators) ServiceBus() string { return e.Broker.ConnectionString(e.AMQPAddress()) }

// CosmosDB returns the connection string of Cosmos DB.
func (e *Emulators) CosmosDB() string { return e.cosmos.ConnectionString(e.CosmosAddress()) }

// AMQPAddress returns where the message services listen.
func (e *Emulators) AMQPAddress() string { return e.listeners.amqp.Addr().String() }

// CosmosAddress returns where Cosmos DB listens.
func (e *Emulators) CosmosAddress() string { return e.listeners.cosmos.Addr().String() }

// Close stops serving and waits for everything that was started.
func (e *Emulators) Close() error {
	var errs []error
	if e.amqp != nil {
		errs = append(errs, e.amqp.Close())
	}
	if e.http != nil {
		errs = append(errs, e.http.Close())
	}
	e.serving.Wait()
	if e.Broker != nil {
		errs = append(errs, e.Broker.Close())
	}
	if e.cosmos != nil {
		errs = append(errs, e.cosmos.Close())
	}
	for _, l := range []net.Listener{e.listeners.amqp, e.listeners.cosmos} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
