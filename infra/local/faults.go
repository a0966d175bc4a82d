package main

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// faultFlags are the flags by which a served system breaks, and gets over it.
type faultFlags struct {
	spec        string
	seed        uint64
	admin       string
	crashes     string // folder
	profileName string

	plan    fault.Plan     // set by check
	profile system.Profile // set by check
}

func (f *faultFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.spec, "faults", "", "what to break on purpose: all, or a `list` such as cosmos,amqp.drop=0.01,-handler.kill,backend.away@FUNCTION=1")
	flags.Uint64Var(&f.seed, "fault-seed", 1, "seed of the decisions of -faults")
	flags.StringVar(&f.admin, "admin", "127.0.0.1:0", "loopback `address` that shows and changes the plan of faults")
	defineCrashes(flags, &f.crashes)
	defineProfile(flags, &f.profileName)
}

// defineCrashes defines the flag that kills handlers at their effects.
func defineCrashes(flags *flag.FlagSet, dir *string) {
	flags.StringVar(dir, "crashes", "", "`folder` whose plan.json says at which effects handlers are killed; see package effect")
}

// openCrashes watches by the plan in a folder, if there is one.
func openCrashes(dir string, log *slog.Logger) (*effect.Watch, error) {
	if dir == "" {
		return nil, nil
	}
	return effect.Open(dir, log)
}

func defineProfile(flags *flag.FlagSet, name *string) {
	all := system.Profiles()
	flags.StringVar(name, "profile", all[0], "`name` of the time limits to run with: "+strings.Join(all, " or "))
}

// check reads what the flags say.
func (f *faultFlags) check(command string) error {
	var err error
	if f.plan, err = parseFaults(f.spec, f.seed); err != nil {
		return &usageError{fmt.Sprintf("%s: -faults: %v", command, err)}
	}
	if f.profile, err = system.ProfileNamed(f.profileName); err != nil {
		return &usageError{fmt.Sprintf("%s: -profile: %v", command, err)}
	}
	return nil
}

// parseFaults reads a plan whose functions are those of the backends.
func parseFaults(spec string, seed uint64) (fault.Plan, error) {
	plan, err := fault.Parse(spec, seed)
	if err != nil {
		return plan, err
	}
	return plan, plan.Fits(system.BackendFunctions(false))
}

// show tells people what will break, and how long getting over it takes.
func (f *faultFlags) show(d *display, s *system.System) {
	d.note("faults                    %s/faults", s.Endpoints().Admin)
	if table := f.profile.Table(); len(table) > 0 {
		d.note("\nprofile %s:\n  %s", f.profile.Name, strings.Join(table, "\n  "))
		d.note("\nafter the last fault everything is final within %v", s.Recovery())
	}
	if len(f.plan.Rates) > 0 {
		d.note("\nbreaking on purpose (seed %d):", f.plan.Seed)
		for _, p := range slices.Sorted(maps.Keys(f.plan.Rates)) {
			d.note("  %-24s %v", p, f.plan.Rates[p])
		}
	}
}
