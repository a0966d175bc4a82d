package system

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/shared/page"
)

// InstanceConfig says which app an instance of the Functions host runs, and
// with what.
type InstanceConfig struct {
	Name string // shown in logs and notices
	App  string // the staged folder
	HTTP string // address to listen on
	// OpenToNetwork allows another address than one of this machine alone.
	OpenToNetwork bool
	Settings      map[string]string // win over the environment, the profile and the local settings file
	// SettingsFile is read instead of the staged local.settings.json; "" for that.
	SettingsFile string
	// Stamp ends the name of what the runtime keeps for an app that has another beside it;
	// "" for the front.
	Stamp string
	// State is the connection string of the Cosmos DB that holds checkpoints
	// and timers.
	State string
	// Profile is the choice of times; the zero value changes nothing.
	Profile Profile
	// Faults breaks calls to the backends and says which acts are done to the
	// host. Nil does neither.
	Faults *fault.Injector
	// Crashes kills handlers at their effects. Nil kills none.
	Crashes *effect.Watch
	// Instances is how many instances share the acts of the plan. 0 is one.
	Instances int
	// MasterKey opens /admin when the app wants to know its callers (AUTH_MODE);
	// a random one, which nobody knows, if empty.
	MasterKey  string
	Logger     *slog.Logger
	HandlerLog func(line string, stderr bool)
	// Notice tells people what the platform does, such as replacing a host.
	Notice func(string)
}

// Instance runs one Functions host, and a new one in its place whenever it
// stops, as the platform does. Close must be called.
type Instance struct {
	c        InstanceConfig
	env      environment
	client   *azcosmos.Client
	storage  string // the signature that opens the host's storage
	address  string // fixed by the first listen
	cancel   context.CancelFunc
	finished chan struct{}
	err      error // why it ended, once finished is closed
	acts     acts

	mu      sync.Mutex
	current *shift
}

// StartInstance starts the host and returns when it serves. Without a State the
// app's own Cosmos DB holds the runtime's containers, too.
func StartInstance(ctx context.Context, c InstanceConfig) (*Instance, error) {
	env, err := newEnvironment(c.App, c.SettingsFile, c.Settings)
	if err != nil {
		return nil, err
	}
	env = env.under(c.Profile)
	if c.State == "" {
		c.State = env.get("CosmosDB")
	}
	if c.State == "" {
		return nil, errNoState
	}
	client, err := azcosmos.NewClientFromConnectionString(c.State, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the runtime's Cosmos DB: %w", err)
	}
	i, err := startInstance(ctx, c, env, client)
	if err != nil {
		client.Close()
		return nil, err
	}
	return i, nil
}

// errNoState is returned for an app that reaches its Cosmos DB by identity:
// identities for data may not make databases and containers (Microsoft Learn,
// "Connect to Azure Cosmos DB for NoSQL using role-based access control").
var errNoState = errors.New("the host needs a connection string of a Cosmos DB for its checkpoints and timers, " +
	"and the setting CosmosDB has none: pass -state with the one of an emulator (cosmosDB in endpoints.json), or use serve")

// startInstance is StartInstance once the runtime's Cosmos DB is known.
func startInstance(ctx context.Context, c InstanceConfig, env environment, client *azcosmos.Client) (*Instance, error) {
	if err := createContainers(ctx, client, runtimeDatabase, runtimeContainers(c.Stamp)); err != nil {
		return nil, err
	}
	i := &Instance{c: c, env: env, client: client, storage: rand.Text(), address: c.HTTP, finished: make(chan struct{})}
	// The instance outlives the call that starts it: Close ends it.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	first, err := i.begin(running)
	if err != nil {
		cancel()
		return nil, err
	}
	go i.run(running, first)
	select {
	case <-first.host.Ready():
		if c.Faults != nil {
			i.acts.start(running, c.Faults, max(1, c.Instances), i.doings(), c.Logger)
			i.acts.last(running, c.Name, i.lasting())
		}
		return i, nil
	case <-i.finished:
		cancel()
		return nil, errors.Join(fmt.Errorf("%s: the host stopped before it was ready", c.Name), i.err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), i.Close())
	}
}

// newHost makes a host that listens on the instance's address.
func (i *Instance) newHost() (*host.Host, error) {
	listener, err := listen(i.address, "-http", i.c.OpenToNetwork)
	if err != nil {
		return nil, err
	}
	if at := listener.Addr().String(); at != i.address {
		i.address = at // by the first host alone: others read it
	}
	i.nameHost()
	checkpoints, timers, err := i.state()
	if err == nil {
		var h *host.Host
		access := i.access()
		h, err = host.New(host.Config{
			EnableAuth: access.functions, HostKey: access.hostKey, MasterKey: access.masterKey, StorageSignature: i.storage,
			ScriptRoot: i.c.App, Settings: i.env.all(), SettingsFile: i.c.SettingsFile, Listener: listener, Pages: []string{"/api/" + page.Path},
			Checkpoints: checkpoints, Timers: timers,
			Logger: i.c.Logger, HandlerLog: i.c.HandlerLog, InstanceID: i.c.Name,
			Timings: i.c.Profile.Timings, Faults: i.c.Faults, Crashes: i.c.Crashes, Backends: BackendFunctions(false),
		})
		if err == nil {
			return h, nil
		}
	}
	return nil, errors.Join(err, closeListener(listener))
}

// state opens what the host keeps its state in.
func (i *Instance) state() (azeventhubs.CheckpointStore, host.TimerStore, error) {
	checkpoints, err := i.client.NewContainer(runtimeDatabase, checkpointsContainer)
	if err != nil {
		return nil, nil, fmt.Errorf("open container %s: %w", checkpointsContainer, err)
	}
	timers, err := i.client.NewContainer(runtimeDatabase, timersContainer+i.c.Stamp)
	if err != nil {
		return nil, nil, fmt.Errorf("open container %s: %w", timersContainer, err)
	}
	return host.NewCosmosCheckpoints(checkpoints), host.NewCosmosTimers(timers), nil
}

func closeListener(l net.Listener) error {
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// nameHost tells the app where it is. What it makes of another name than one of
// loopback would be https, which is not served here.
func (i *Instance) nameHost() {
	at := i.Address()
	i.env.set["WEBSITE_HOSTNAME"] = at
	i.env.set["AzureWebJobsStorage"] = host.StorageConnection(at, i.storage)
	if i.c.Crashes != nil {
		i.env.set["WEBSITE_INSTANCE_ID"] = i.c.Crashes.InstanceID(i.c.Name)
	}
	if host, _, err := net.SplitHostPort(at); err != nil || door.IsLoopback(host) {
		return
	}
	for _, name := range backendURLs() {
		if i.env.get(name) == "" {
			i.env.set[name] = "http://" + at + "/api"
		}
	}
}

// Address returns where this machine finds the instance.
func (i *Instance) Address() string { return callable(i.address) }

// Host returns the host that runs now.
func (i *Instance) Host() *host.Host { return i.shift().host }

// Finished is closed when the instance has ended and no host takes its place.
func (i *Instance) Finished() <-chan struct{} { return i.finished }

// Close stops the host and its handler and waits for both. It returns why the
// instance ended, if it ended by itself.
func (i *Instance) Close() error {
	i.cancel()
	i.acts.wait()
	<-i.finished
	i.client.Close()
	return i.err
}
