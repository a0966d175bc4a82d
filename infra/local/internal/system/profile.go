package system

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
)

// Profile is a choice of times for the app and its host. It changes no rule:
// not the app's, nor when a host restarts its handler or is replaced.
type Profile struct {
	Name string
	// Settings are the app's. They win over local.settings.json, the environment
	// wins over them.
	Settings map[string]string
	Timings  host.Timings
}

// profiles are all that there are, the default first.
var profiles = []Profile{
	{Name: "production"},
	{
		// The shortest times that the settings' rules allow and that two busy
		// cores keep: a run with faults shows in a minute what takes ten
		// otherwise.
		Name: "chaos",
		Settings: map[string]string{
			"CALL_TIMEOUT_SECONDS":       "1",
			"STEP_TIMEOUT_SECONDS":       "2",
			"INVOCATION_TIMEOUT_SECONDS": "3",
			"ACCEPT_TIMEOUT_SECONDS":     "5",
			"MESSAGE_LOCK_SECONDS":       "5", // the least that Service Bus has
			"LEASE_SECONDS":              "7", // a call and the clocks' difference must fit
			"LATER_MIN_SECONDS":          "0.2",
			"LATER_MAX_SECONDS":          "2",
			"BREAKER_WINDOW_SECONDS":     "5",
			"BREAKER_DELAY_SECONDS":      "1",
			"SWEEP_SCHEDULE":             "*/5 * * * * *",
			"RELAY_QUIET_SECONDS":        "5", // more than RetryMost
		},
		Timings: host.Timings{
			ShutdownTimeout: 5 * time.Second,
			ListenMost:      2 * time.Second,
			TimerLease:      6 * time.Second,
			OwnershipUpdate: 500 * time.Millisecond, OwnershipExpiration: 5 * time.Second,
			RetryMost: 2 * time.Second,
		},
	},
}

// Profiles returns the names of all profiles, the default first.
func Profiles() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return names
}

// ProfileNamed returns a profile; its maps are the caller's own.
func ProfileNamed(name string) (Profile, error) {
	for _, p := range profiles {
		if p.Name == name {
			p.Settings = maps.Clone(p.Settings)
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("unknown profile %q: use %s", name, strings.Join(Profiles(), " or "))
}

// Table returns what the profile sets, a line each, for people.
func (p Profile) Table() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		lines = append(lines, fmt.Sprintf("%-28s %s", name, p.Settings[name]))
	}
	t := p.Timings
	for _, wait := range []struct {
		what string
		time time.Duration
	}{
		{"host: shutdown", t.ShutdownTimeout}, {"host: listener's restart", t.ListenMost}, {"host: timer's lease", t.TimerLease},
		{"host: ownership's update", t.OwnershipUpdate}, {"host: ownership's end", t.OwnershipExpiration}, {"host: retry of a batch", t.RetryMost},
	} {
		if wait.time > 0 {
			lines = append(lines, fmt.Sprintf("%-28s %v", wait.what, wait.time))
		}
	}
	return lines
}
