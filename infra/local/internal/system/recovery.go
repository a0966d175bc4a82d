package system

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/cron"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Recovery is the longest chain of waits between the last fault and the last
// transaction's end: how long it takes at most until everything that can be
// final is. Waiting for a free drone, and what an operator has to decide, are
// not in it.
//
// There are two such chains. In both everything has just been killed, and what
// follows goes well but for what the faults have left behind.
//
// A transaction whose runner died: its message is locked and it is leased until
// both have ended; the wake raised for then was saved, but never sent; so Sweep
// finds it overdue, once another instance has the timer, and sends a wake that is
// due after the longest delay; the backend that it calls is still left alone;
// then it runs to its end, which may lie behind an undo.
//
// An accepted event that Relay has not handed over: the trigger gets to it when
// the partition's owner has been found dead, the listener has started again, and
// a batch's attempt has failed once more; or the trigger has skipped it, and
// Sweep's timer finds the partition quiet. Then its transaction runs to its end.
type Recovery struct {
	Transaction, Event []Wait
}

// Wait is one part of a chain.
type Wait struct {
	For  string
	Time time.Duration
}

// Total returns the bound: the longer chain.
func (r Recovery) Total() time.Duration { return max(sum(r.Transaction), sum(r.Event)) }

func sum(waits []Wait) time.Duration {
	var total time.Duration
	for _, w := range waits {
		total += w.Time
	}
	return total
}

// String tells the bound and the parts of the longer chain.
func (r Recovery) String() string {
	longer := r.Transaction
	if sum(r.Event) > sum(longer) {
		longer = r.Event
	}
	var parts []string
	for _, w := range longer {
		parts = append(parts, fmt.Sprintf("%s %v", w.For, w.Time))
	}
	return fmt.Sprintf("%v: %s", r.Total(), strings.Join(parts, " + "))
}

const (
	// startTime is what the processes need to serve again, data included.
	startTime = 5 * time.Second
	// sweepGrace is for how long Sweep leaves an overdue wake to its message;
	// package supervise has it as a constant, too.
	sweepGrace = 15 * time.Second
	// breakerSpread is what a circuit breaker adds at most to its delay.
	breakerSpread = 1.25
	// ownershipSpread is what the SDK's processor adds at most to its interval.
	ownershipSpread = 1.3
	// runs are the invocations that a transaction takes from a wake to its end:
	// Schedule's, and Supervise's if it has to be undone.
	runs = 2
)

// Recovery computes the bound for the app that is staged in a folder, under the
// profile, with settings that win over everything else. file is a local settings
// file; "" is the folder's own.
func (p Profile) Recovery(folder, file string, set map[string]string) (Recovery, error) {
	env, err := newEnvironment(folder, file, set)
	if err != nil {
		return Recovery{}, err
	}
	env = env.under(p)
	s, err := env.settings()
	if err != nil {
		return Recovery{}, err
	}
	app, err := config.Load(folder, config.Sources{Own: env.all(), File: file})
	if err != nil {
		return Recovery{}, err
	}
	return recovery(s, app.Host, app.Functions, p.Timings)
}

// recovery computes the bound from what the settings, host.json and the
// functions say.
func recovery(s settings.Settings, app config.Host, functions []config.Function, t host.Timings) (Recovery, error) {
	t = t.WithDefaults()
	schedule, err := cron.Parse(s.SweepSchedule)
	if err != nil {
		return Recovery{}, fmt.Errorf("time of recovery: %w", err)
	}
	b := s.Budgets
	start := Wait{"start", startTime}
	timer := Wait{"timer of a dead instance", t.TimerLease + t.TimerLease/3}
	sweep := Wait{"Sweep's schedule", period(schedule)}
	run := Wait{"runs", runs * b.Invocation}
	r := Recovery{Transaction: []Wait{
		start,
		{"lock or lease", max(b.MessageLock, b.Lease+settings.ClockMargin)},
		{"Sweep's grace", sweepGrace}, timer, sweep,
		{"later wake", b.LaterMax},
		{"circuit breaker", spread(s.Backends.Breaker.Delay, breakerSpread)},
		run,
	}}
	taken := cmp.Or(app.EventHubs.Expiration, t.OwnershipExpiration) +
		spread(cmp.Or(app.EventHubs.UpdateInterval, t.OwnershipUpdate), ownershipSpread) +
		t.ListenMost + longestRetry(functions, t)
	skipped := s.RelayQuiet + timer.Time + sweep.Time
	if taken > skipped {
		r.Event = []Wait{start, {"trigger", taken}, run}
	} else {
		r.Event = []Wait{start, {"quiet partition", s.RelayQuiet}, timer, sweep, run}
	}
	return r, nil
}

func spread(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// longestRetry is the longest wait of an Event Hubs function's retry policy.
func longestRetry(functions []config.Function, t host.Timings) time.Duration {
	var longest time.Duration
	for _, f := range functions {
		if f.Trigger.Kind == config.EventHub && f.Retry != nil {
			longest = max(longest, f.Retry.Delay, f.Retry.Max)
		}
	}
	if t.RetryMost > 0 {
		return min(longest, t.RetryMost)
	}
	return longest
}

// period is the longest pause between the next occurrences of a schedule.
func period(s cron.Schedule) time.Duration {
	const looked = 100
	var longest time.Duration
	at := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range looked {
		next := s.Next(at)
		if next.IsZero() {
			break
		}
		longest = max(longest, next.Sub(at))
		at = next
	}
	return longest
}
