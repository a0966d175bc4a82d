package host

import (
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// Version is the host version that handlers see.
const Version = "4.1052.200"

// Config says what to run and with what.
type Config struct {
	ScriptRoot string // staged folder: host.json, <Name>/function.json, handler
	// Settings win over Environ, and Environ wins over local.settings.json.
	Settings map[string]string
	// Environ is the real environment as NAME=value; os.Environ() if nil.
	Environ []string

	// Listener is where HTTP is served. Run closes it.
	Listener net.Listener
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
	// HostKey opens functions of level function, MasterKey every function.
	HostKey, MasterKey string

	// FrontEndTimeout bounds an HTTP exchange without a byte in either
	// direction; 230 s if zero.
	FrontEndTimeout time.Duration
	// ShutdownTimeout is how long running calls may take after the end of
	// Run's context, before the handler is killed; 10 s if zero.
	ShutdownTimeout time.Duration
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
	if c.FrontEndTimeout == 0 {
		c.FrontEndTimeout = 230 * time.Second
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 10 * time.Second
	}
}
