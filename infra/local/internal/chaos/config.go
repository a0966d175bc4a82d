package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Config says what a run is. All fields must be set but those that say
// otherwise.
type Config struct {
	// Command is the program that serves, with its first arguments; it is given
	// the flags of the serve command.
	Command []string
	// Business is the one whose promises are to be proved, Trial what is sent, and
	// Subject how it is judged.
	Business business.Business
	Trial    trial.Trial
	Subject  *invariant.Subject
	// Stage makes the app's folder.
	Stage func(ctx context.Context, out string) error
	// CrashPoints tells whether handlers are killed at their effects.
	CrashPoints bool
	// Dir is the folder of the run. What an earlier run has left in it is
	// removed; a folder that holds anything else is refused.
	Dir       string
	Requests  int
	Seed      uint64
	Duration  time.Duration // of sending and breaking
	Faults    fault.Plan
	Instances int
	Shards    int                    // 1 is a system without a map
	Scheduler settings.SchedulerMode // of the handlers
	// Encore is how long it goes on at most while too little has been seen.
	Encore    time.Duration
	TreeKills int // how often the whole tree is killed
	// Clocks is how far the clocks of instances are apart; the design allows
	// engine.LeaseMargin.
	Clocks  time.Duration
	Settle  time.Duration // the longest time that it may take to come to rest
	Keep    bool          // keep the data also if nothing is broken
	Version string        // what was built, for the report
	Line    string        // the command line that repeats the run, for the report
	// Notice tells people what happens, Progress how far it is, each second.
	Notice   func(text string)
	Progress func(Status)
	// BeforeCheck, if it is not nil, is called when all has come to rest: to
	// see that the check finds what is done then.
	BeforeCheck func(context.Context, invariant.Source) error
}

// The bounds of a run.
const (
	MaxRequests  = 100_000
	MaxInstances = 16
	MaxTreeKills = 20
	MaxClocks    = 4 * time.Second
)

// Validate returns an error that names everything that is out of bounds.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Requests >= MinRequests && c.Requests <= MaxRequests, "-requests %d: use %d to %d", c.Requests, MinRequests, MaxRequests)
	check(c.Duration >= time.Second && c.Duration <= time.Hour, "-duration %v: use 1s to 1h", c.Duration)
	check(slices.Contains(settings.Schedulers, c.Scheduler), "-scheduler %q: use one of %v", c.Scheduler, settings.Schedulers)
	check(c.Instances >= 1 && c.Instances <= MaxInstances, "-instances %d: use 1 to %d", c.Instances, MaxInstances)
	check(c.Shards >= 1 && c.Shards <= MostShards, "-shards %d: use 1 to %d", c.Shards, MostShards)
	check(c.Clocks >= 0 && c.Clocks <= MaxClocks, "-clocks-apart %v: use 0s to %v", c.Clocks, MaxClocks)
	check(c.TreeKills >= 0 && c.TreeKills <= MaxTreeKills, "-tree-kills %d: use 0 to %d", c.TreeKills, MaxTreeKills)
	check(c.Encore >= 0 && c.Encore <= time.Hour, "-encore %v: use 0s to 1h", c.Encore)
	check(c.Settle >= time.Second && c.Settle <= time.Hour, "-settle %v: use 1s to 1h", c.Settle)
	return errors.Join(errs...)
}

// Phase is what a run is doing.
type Phase string

// The phases.
const (
	Sending  Phase = "sending"
	Settling Phase = "settling"
)

// Status is how far a run is.
type Status struct {
	Phase    Phase `json:"phase"`
	Sent     int   `json:"sent"`     // requests
	Accepted int   `json:"accepted"` // of them
	Open     int   `json:"open"`     // transactions that have not ended; while settling
	Kills    int   `json:"kills"`    // of the tree
	Deaths   int   `json:"deaths"`   // of handlers at crash points
	Covered  int   `json:"covered"`  // crash points that were hit
}
