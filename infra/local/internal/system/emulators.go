package system

import (
	"cmp"
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
	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Addresses are where things listen: host:port, port 0 for a free one.
type Addresses struct {
	HTTP, AMQP, Cosmos string
	// OpenToNetwork allows other addresses than those of this machine alone.
	OpenToNetwork bool
}

// Check returns an error for an address that other machines reach, unless that
// is allowed.
func (a Addresses) Check() error {
	return errors.Join(
		checkLocal(a.HTTP, "-http", a.OpenToNetwork), checkLocal(a.AMQP, "-amqp", a.OpenToNetwork), checkLocal(a.Cosmos, "-cosmos", a.OpenToNetwork))
}

// DefaultAddresses are the ports that the tools of Azure use.
var DefaultAddresses = Addresses{HTTP: "127.0.0.1:7071", AMQP: "127.0.0.1:5672", Cosmos: "127.0.0.1:8081"}

// EmulatorsConfig says what to start.
type EmulatorsConfig struct {
	Addresses Addresses
	App       settings.Settings // what names the entities
	Faults    *fault.Injector   // breaks things on purpose; nil breaks none
	Crashes   *effect.Watch     // kills handlers at their effects; nil kills none
	Ranges    int               // of new containers, as cosmos.Config has it; 0 is its default
	// Partitions is how many the hub has, 1 to MaxPartitions; 0 is DefaultPartitions.
	// A hub that Data holds keeps its number, and another one is refused.
	Partitions int
	// Shards is how many shards there are entities for; 0 is one.
	Shards int
	// Data is the folder that keeps the state; "" keeps none.
	Data   string
	Logger *slog.Logger
	// Notice tells people what was recovered from Data. It must be set with it.
	Notice func(string)

	fsys files.FS // that Data is in; nil is that of the operating system
}

// Emulators are Event Hubs, Service Bus and Cosmos DB with the entities that
// the app's settings name.
type Emulators struct {
	Broker *broker.Broker

	listeners struct{ amqp, cosmos net.Listener }
	data      *data
	amqp      *amqp.Server
	cosmos    *cosmos.Server
	http      *http.Server
	serving   sync.WaitGroup
	failed    chan error
}

// StartServices starts the emulators for the app whose local.settings.json is
// in dir; c.App is read from there. Close must be called.
func StartServices(ctx context.Context, dir string, c EmulatorsConfig) (*Emulators, error) {
	env, err := newEnvironment(dir, "", nil)
	if err != nil {
		return nil, err
	}
	if c.App, err = env.settings(); err != nil {
		return nil, err
	}
	return StartEmulators(ctx, c)
}

// StartEmulators listens, recovers what is kept, and makes the entities that are
// not there. It returns when everything is ready. Close must be called.
func StartEmulators(ctx context.Context, c EmulatorsConfig) (*Emulators, error) {
	e := &Emulators{failed: make(chan error, 2)}
	if err := e.start(ctx, c); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Emulators) start(ctx context.Context, c EmulatorsConfig) error {
	var err error
	if e.listeners.amqp, err = listen(c.Addresses.AMQP, "-amqp", c.Addresses.OpenToNetwork); err != nil {
		return err
	}
	if e.listeners.cosmos, err = listen(c.Addresses.Cosmos, "-cosmos", c.Addresses.OpenToNetwork); err != nil {
		return err
	}
	entities := allEntities(c.App, c.Shards, cmp.Or(c.Partitions, DefaultPartitions))
	entities.Faults, entities.Crashes = c.Faults, c.Crashes
	if err := entities.Validate(); err != nil {
		return fmt.Errorf("start the message emulators: %w", err)
	}
	if e.data, err = openData(c.Data, c.fsys); err != nil {
		return err
	}
	if e.Broker, err = broker.New(entities, e.data, c.Logger); err != nil {
		return e.data.unusable("the message emulators", err)
	}
	e.amqp = amqp.NewServer(e.Broker, amqp.Options{
		Logger: c.Logger, Faults: c.Faults, HTTP: door.Guard(e.listeners.amqp.Addr(), http.HandlerFunc(e.Broker.Administer)),
	})
	account := cosmos.Config{
		Key: cosmos.EmulatorKey, Logger: c.Logger, Faults: c.Faults, Crashes: c.Crashes, Spared: []string{runtimeDatabase}, RangesPerContainer: c.Ranges,
	}
	if e.cosmos, err = cosmos.New(account, e.data); err != nil {
		return e.data.unusable("the Cosmos DB emulator", err)
	}
	for _, line := range e.data.report(e.Broker, e.cosmos) {
		c.Notice(line)
	}
	e.http = &http.Server{Handler: door.Guard(e.listeners.cosmos.Addr(), e.cosmos), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn)}
	e.serve("Service Bus and Event Hubs", func() error { return e.amqp.Serve(e.listeners.amqp) })
	e.serve("Cosmos DB", func() error { return e.http.Serve(e.listeners.cosmos) })
	client, err := azcosmos.NewClientFromConnectionString(e.CosmosDB(), nil)
	if err != nil {
		return fmt.Errorf("connect to the Cosmos DB emulator: %w", err)
	}
	defer client.Close()
	return during(ctx, e.Wait, func(ctx context.Context) error {
		for n := 1; n <= max(1, c.Shards); n++ {
			if err := createContainers(ctx, client, inShard(c.App, n).Database, cosmosdb.Containers(chosen.Business())); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Emulators) serve(name string, run func() error) {
	e.serving.Go(func() {
		err := run()
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, amqp.ErrServerClosed) {
			e.failed <- fmt.Errorf("%s: %w", name, err)
		}
	})
}

// Wait returns nil when ctx ends, and an error when a listener breaks, or the
// store of the state; that one also when ctx has ended because of it, as what
// asked the store may be told first.
func (e *Emulators) Wait(ctx context.Context) (err error) {
	select {
	case <-ctx.Done():
	case <-e.data.failed():
	case err = <-e.failed:
	}
	return cmp.Or(e.data.broken(), err)
}

// ServiceBus returns the connection string of both message services.
func (e *Emulators) ServiceBus() string { return e.Broker.ConnectionString(e.AMQPAddress()) }

// CosmosDB returns the connection string of Cosmos DB.
func (e *Emulators) CosmosDB() string { return e.cosmos.ConnectionString(e.CosmosAddress()) }

// AMQPAddress returns where this machine finds the message services.
func (e *Emulators) AMQPAddress() string { return callable(e.listeners.amqp.Addr().String()) }

// CosmosAddress returns where this machine finds Cosmos DB.
func (e *Emulators) CosmosAddress() string { return callable(e.listeners.cosmos.Addr().String()) }

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
	if e.data != nil {
		errs = append(errs, e.data.Close())
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
