package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func timerFunction(schedule, more string) string {
	return `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"` + schedule + `"` + more + `}]}`
}

type timerValue struct {
	ScheduleStatus *struct{ Last, Next, LastUpdated string }
	IsPastDue      bool
}

func timerOf(t *testing.T, c call) timerValue {
	t.Helper()
	var v timerValue
	if err := json.Unmarshal(c.Data["timer"], &v); err != nil {
		t.Fatalf("%s: %v", c.Data["timer"], err)
	}
	return v
}

func timerSpec(function string, store TimerStore, calls chan call) spec {
	return spec{functions: map[string]string{"Sweep": function}, change: func(c *Config) { c.Timers = store },
		answer: func(w http.ResponseWriter, r *http.Request) {
			calls <- readCall(r)
			ok(w, r)
		}}
}

func TestTimerFires(t *testing.T) {
	t.Parallel()
	calls := make(chan call, 100)
	start(t, timerSpec(timerFunction("*/1 * * * * *", ""), NewMemoryTimers(), calls))
	for range 2 {
		if v := timerOf(t, receive(t, calls)); v.IsPastDue || v.ScheduleStatus != nil {
			t.Errorf("timer: %+v; schedules below a minute aren't monitored", v)
		}
	}
}

func TestTimerRunsOnStartup(t *testing.T) {
	calls := make(chan call, 10)
	start(t, timerSpec(timerFunction("0 0 0 1 1 *", `,"runOnStartup":true,"useMonitor":false`), NewMemoryTimers(), calls))
	if v := timerOf(t, receive(t, calls)); v.IsPastDue || v.ScheduleStatus != nil {
		t.Errorf("timer: %+v", v)
	}
}

func TestTimerCatchesUpOnce(t *testing.T) {
	_, container := containers(t)
	timers := NewCosmosTimers(container)
	now := time.Now()
	if _, held, err := timers.Acquire(t.Context(), "Sweep", "gone", now, now.Add(-time.Second)); err != nil || !held {
		t.Fatal(held, err)
	}
	last := time.Date(now.Year()-2, 1, 1, 0, 0, 0, 0, time.UTC)
	before := TimerState{Last: last, Next: last.AddDate(1, 0, 0), LastUpdated: last}
	if err := timers.Save(t.Context(), "Sweep", "gone", before); err != nil {
		t.Fatal(err)
	}
	calls := make(chan call, 10)
	f := start(t, timerSpec(timerFunction("0 0 0 1 1 *", ""), timers, calls))
	v := timerOf(t, receive(t, calls))
	if !v.IsPastDue || v.ScheduleStatus == nil || !strings.HasSuffix(v.ScheduleStatus.Last, "-01-01T00:00:00+00:00") {
		t.Errorf("timer: %+v", v)
	}
	f.logs.until(t, "(Succeeded)")
	f.stop()
	if err := f.end(t); err != nil {
		t.Fatal(err)
	}
	// The host has given the lease back, and the state is of the year to come.
	state, held, err := timers.Acquire(t.Context(), "Sweep", "another", now, now.Add(time.Minute))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if want := time.Date(now.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC); !state.Next.Equal(want) || state.Last.Before(now) {
		t.Errorf("state %+v, want next %s", state, want)
	}
}

// TestTimerRunsOnOneInstance gives one of two hosts the lease: the other is
// never called.
func TestTimerRunsOnOneInstance(t *testing.T) {
	t.Parallel()
	timers := NewMemoryTimers()
	var other atomic.Int32
	calls := make(chan call, 100)
	start(t, timerSpec(timerFunction("*/1 * * * * *", ""), timers, calls))
	receive(t, calls)
	s := timerSpec(timerFunction("*/1 * * * * *", ""), timers, nil)
	s.change = func(c *Config) { c.Timers, c.InstanceID = timers, "two" }
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		other.Add(1)
		ok(w, r)
	}
	start(t, s)
	for range 2 {
		receive(t, calls)
	}
	if n := other.Load(); n != 0 {
		t.Errorf("the instance without the lease was called %d times", n)
	}
}

func TestTimerStores(t *testing.T) {
	_, container := containers(t)
	for name, s := range map[string]TimerStore{"memory": NewMemoryTimers(), "Cosmos DB": NewCosmosTimers(container)} {
		t.Run(name, func(t *testing.T) { testTimerStore(t.Context(), t, s) })
	}
}

func testTimerStore(ctx context.Context, t *testing.T, s TimerStore) {
	now := time.Date(2026, 10, 12, 0, 0, 0, 0, time.UTC)
	acquire := func(owner string, at time.Time, want bool) TimerState {
		t.Helper()
		state, held, err := s.Acquire(ctx, "T", owner, at, at.Add(time.Minute))
		if err != nil || held != want {
			t.Fatalf("%s at %s: %t, %v; want %t", owner, at, held, err, want)
		}
		return state
	}
	if got := acquire("a", now, true); got != (TimerState{}) {
		t.Errorf("a new timer's state: %+v", got)
	}
	acquire("b", now.Add(59*time.Second), false)
	acquire("a", now.Add(30*time.Second), true)
	acquire("b", now.Add(89*time.Second), false)
	state := TimerState{Last: now, Next: now.Add(time.Hour), LastUpdated: now.Add(time.Second)}
	if err := s.Save(ctx, "T", "a", state); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, "T", "b", TimerState{}); !errors.Is(err, ErrTimerLeaseLost) {
		t.Errorf("save by another owner: %v", err)
	}
	if err := s.Release(ctx, "T", "b"); err != nil {
		t.Errorf("release by another owner: %v", err)
	}
	if got := acquire("b", now.Add(91*time.Second), true); !got.Last.Equal(state.Last) || !got.Next.Equal(state.Next) || !got.LastUpdated.Equal(state.LastUpdated) {
		t.Errorf("state %+v, want %+v", got, state)
	}
	if err := s.Save(ctx, "T", "a", state); !errors.Is(err, ErrTimerLeaseLost) {
		t.Errorf("save after the lease was lost: %v", err)
	}
	if err := s.Release(ctx, "T", "b"); err != nil {
		t.Fatal(err)
	}
	acquire("a", now.Add(92*time.Second), true)
}
