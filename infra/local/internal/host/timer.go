package host

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// monitorLeast is the shortest interval of a schedule that is monitored.
const monitorLeast = time.Minute

// timer is the listener of a timer trigger. Of all instances the one that
// holds the lease runs it, and never twice at once; it keeps the lease while it
// lives.
type timer struct {
	host    *Host
	fn      *config.Function
	zone    *time.Location
	started bool // runOnStartup has been served
}

func (h *Host) newTimer(f *config.Function, zone *time.Location) *timer {
	return &timer{host: h, fn: f, zone: zone}
}

func (t *timer) function() *config.Function { return t.fn }

func (t *timer) run(ctx context.Context) {
	t.host.keepListening(ctx, t.fn, t.listen)
}

// listen waits for the lease and holds it, again and again, until ctx ends or
// the store fails.
func (t *timer) listen(ctx context.Context) error {
	for {
		state, held, err := t.acquire(ctx)
		if err != nil {
			return err
		}
		if held {
			if err := t.hold(ctx, state); err != nil {
				return err
			}
		}
		if !sleep(ctx, t.renewal()) {
			return ctx.Err()
		}
	}
}

// renewal is the pause between two looks at the lease.
func (t *timer) renewal() time.Duration { return t.host.cfg.TimerLease / 3 }

func (t *timer) acquire(ctx context.Context) (TimerState, bool, error) {
	now := t.host.cfg.Now()
	state, held, err := t.host.cfg.Timers.Acquire(ctx, t.fn.Name, t.host.cfg.InstanceID, now, now.Add(t.host.cfg.TimerLease))
	if err != nil {
		return state, false, fmt.Errorf("take the timer's lease: %w", err)
	}
	return state, held, nil
}

// hold runs the timer for as long as the lease lasts, and gives it back.
func (t *timer) hold(ctx context.Context, state TimerState) error {
	held, lost := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for sleep(held, t.renewal()) {
			_, ok, err := t.acquire(held)
			if held.Err() == nil && (err != nil || !ok) {
				t.host.cfg.Logger.Warn(fmt.Sprintf("Functions.%s: the timer's lease was lost", t.fn.Name), "error", err)
				lost(ErrTimerLeaseLost)
			}
		}
	}()
	err := t.loop(held, state)
	lost(nil)
	<-renewed
	t.host.closing("timer lease", func(ctx context.Context) error {
		return t.host.cfg.Timers.Release(ctx, t.fn.Name, t.host.cfg.InstanceID)
	})
	return err
}

// loop fires at every occurrence. A monitored timer that missed one fires at
// once, past due.
func (t *timer) loop(ctx context.Context, state TimerState) error {
	now := t.now()
	monitored := t.monitored(now)
	next := t.fn.Trigger.Schedule.Next(now)
	if monitored {
		due, err := t.resume(ctx, &state, now)
		if err != nil {
			return err
		}
		if now.After(due) {
			if next, err = t.fire(ctx, &state, due, monitored, true); err != nil {
				return err
			}
			t.started = true
		}
	}
	if t.fn.Trigger.RunOnStartup && !t.started {
		var err error
		if next, err = t.fire(ctx, &state, now, monitored, false); err != nil {
			return err
		}
	}
	t.started = true
	for !next.IsZero() {
		if !sleep(ctx, next.Sub(t.now())) {
			return nil
		}
		var err error
		if next, err = t.fire(ctx, &state, next, monitored, false); err != nil {
			return err
		}
	}
	t.host.cfg.Logger.Warn(fmt.Sprintf("Functions.%s: the schedule has no further occurrence", t.fn.Name), "schedule", t.fn.Trigger.ScheduleText)
	<-ctx.Done()
	return nil
}

// resume finds when a monitored timer was due, recording the first occurrence
// of a new one, and the new occurrence of one whose schedule was changed.
func (t *timer) resume(ctx context.Context, state *TimerState, now time.Time) (time.Time, error) {
	schedule := t.fn.Trigger.Schedule
	if state.Next.IsZero() {
		*state = TimerState{Next: schedule.Next(now), LastUpdated: now}
		return state.Next, t.save(ctx, *state)
	}
	base := state.Last
	if base.IsZero() {
		base = state.LastUpdated
	}
	due := schedule.Next(base.In(t.zone))
	if !due.Equal(state.Next) {
		state.Next, state.LastUpdated = due, now
		return due, t.save(ctx, *state)
	}
	return due, nil
}

// fire runs the function for the occurrence at and gives the next one.
func (t *timer) fire(ctx context.Context, state *TimerState, at time.Time, monitored, pastDue bool) (time.Time, error) {
	var status *payload.ScheduleStatus
	if monitored {
		status = &payload.ScheduleStatus{Last: inZone(state.Last, t.zone), Next: inZone(state.Next, t.zone), LastUpdated: inZone(state.LastUpdated, t.zone)}
	}
	inv, err := payload.Timer(t.fn.Trigger.Binding, t.fn.Trigger.Schedule.AdjustForDST(), status, pastDue)
	if err != nil {
		return time.Time{}, err
	}
	// A failure is logged by invoke; the timer goes on with its next occurrence.
	failure := t.host.invokeWithRetry(ctx, t.fn, inv)
	now := t.now()
	if now.Before(at) {
		now = at
	}
	next := t.fn.Trigger.Schedule.Next(now)
	if !monitored || (failure != nil && ctx.Err() != nil) {
		return next, nil // cut off by the end: past due at the next start
	}
	*state = TimerState{Last: now, Next: next, LastUpdated: now}
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return next, t.save(saving, *state)
}

func (t *timer) save(ctx context.Context, state TimerState) error {
	if err := t.host.cfg.Timers.Save(ctx, t.fn.Name, t.host.cfg.InstanceID, state); err != nil {
		return fmt.Errorf("save the timer's state: %w", err)
	}
	return nil
}

// monitored reports whether the schedule's occurrences are kept: useMonitor,
// and none within a minute of another, looking at the next five.
func (t *timer) monitored(now time.Time) bool {
	if !t.fn.Trigger.UseMonitor {
		return false
	}
	for at, i := t.fn.Trigger.Schedule.Next(now), 0; i < 4 && !at.IsZero(); i++ {
		next := t.fn.Trigger.Schedule.Next(at)
		if !next.IsZero() && next.Sub(at) < monitorLeast {
			return false
		}
		at = next
	}
	return true
}

func (t *timer) now() time.Time { return t.host.cfg.Now().In(t.zone) }

// inZone moves a time to a zone but leaves the zero time alone.
func inZone(at time.Time, zone *time.Location) time.Time {
	if at.IsZero() {
		return at
	}
	return at.In(zone)
}

func (t *timer) manual(string) (payload.Invocation, error) {
	return payload.Timer(t.fn.Trigger.Binding, t.fn.Trigger.Schedule.AdjustForDST(), nil, false)
}
