package host

import (
	"cmp"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Version is the host version that handlers see.
const Version = "4.1052.200"

// Config says what to run and with what.
type Config struct {
	ScriptRoot string // staged folder: host.json, <Name>/function.json, handler
	// Settings win over Environ, and Environ wins over the local settings file.
	Settings map[string]string
	// Environ is the real environment as NAME=value; os.Environ() if nil.
	Environ []string
	// SettingsFile is read instead of the script root's local.settings.json; ""
	// for that one.
	SettingsFile string

	// Listener is where HTTP is served. Run closes it.
	Listener net.Listener
	// Pages are the paths of pages that the app serves: see door.Guard.
	Pages []string
	// Checkpoints keeps ownership and checkpoints; needed by Event Hubs
	// triggers.
	Checkpoints azeventhubs.CheckpointStore
	// Timers keeps timers; NewMemoryTimers() if nil.
	Timers TimerStore
	// Credential is for connections by identity; azidentity's default
	// credential, or the managed identity that the settings name, if nil.
	Credential azcore.TokenCredential

	Logger *slog.Logger // the host's own log; discarded if nil
	// HandlerLog is given each console line of the handler, with "address
	// already in use" in the host's words; ConsoleLevel tells its level. If nil
	// the lines go to Logger. It is called from two goroutines at once.
	HandlerLog func(line string, stderr bool)
	Now        func() time.Time // time.Now if nil
	// InstanceID names this host among those of the app, for leases and
	// partitions; the host's name if empty. Two that run at the same time must
	// differ; one that comes back under the same name takes over at once.
	InstanceID string

	// EnableAuth checks the keys of functions whose authLevel isn't anonymous.
	// Off, as with func start.
	EnableAuth bool
	// HostKey opens functions of level function, MasterKey every function and
	// /admin. /admin wants it if there is one, or with EnableAuth.
	HostKey, MasterKey string
	// StorageSignature opens what the host serves as the app's storage, see
	// StorageConnection; nobody can read it if empty.
	StorageSignature string

	Timings

	// Faults breaks calls to the functions in Backends on purpose; nil breaks
	// none.
	Faults *fault.Injector
	// Crashes kills handlers at the calls that they make. nil kills none.
	Crashes *effect.Watch
	// Backends are the names of the HTTP functions that the app's own workflow
	// calls.
	Backends []string
}

// Timings are the host's own waits. Zero values take their defaults.
type Timings struct {
	// FrontEndTimeout bounds an HTTP exchange without a byte in either
	// direction; 230 s.
	FrontEndTimeout time.Duration
	// TimeoutGrace is how long after functionTimeout the handler is killed; 2 s.
	TimeoutGrace time.Duration
	// ShutdownTimeout is how long running calls may take after the end of
	// Run's context, before the handler is killed; 10 s.
	ShutdownTimeout time.Duration
	// ListenMost is the longest wait before a listener that broke starts
	// again; the waits grow to it from half a second. 15 s.
	ListenMost time.Duration
	// TimerLease is for how long a timer stays with an instance that is gone;
	// one that lives renews it three times as often. 15 s.
	TimerLease time.Duration
	// OwnershipUpdate is how often an instance looks at the ownership of
	// partitions, and OwnershipExpiration how long one lasts that is not renewed,
	// where host.json says neither. 1 s and 10 s: a local run delivers at
	// once and takes over soon. The service's own are 30 s and 2 min.
	OwnershipUpdate, OwnershipExpiration time.Duration
	// RetryMost bounds the wait between two attempts of a retry policy,
	// whatever the policy says. 0 is no bound.
	RetryMost time.Duration
}

// WithDefaults returns the timings that a host has which is given t.
func (t Timings) WithDefaults() Timings {
	t.FrontEndTimeout = cmp.Or(t.FrontEndTimeout, 230*time.Second)
	t.TimeoutGrace = cmp.Or(t.TimeoutGrace, 2*time.Second)
	t.ShutdownTimeout = cmp.Or(t.ShutdownTimeout, 10*time.Second)
	t.ListenMost = cmp.Or(t.ListenMost, 15*time.Second)
	t.TimerLease = cmp.Or(t.TimerLease, 15*time.Second)
	t.OwnershipUpdate = cmp.Or(t.OwnershipUpdate, time.Second)
	t.OwnershipExpiration = cmp.Or(t.OwnershipExpiration, 10*time.Second)
	return t
}

func (c *Config) setDefaults() {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Timers == nil {
		c.Timers = NewMemoryTimers()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.InstanceID == "" {
		c.InstanceID, _ = os.Hostname()
	}
	c.Timings = c.Timings.WithDefaults()
}
