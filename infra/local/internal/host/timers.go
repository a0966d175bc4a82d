package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrTimerLeaseLost is returned when a timer's lease belongs to another owner.
var ErrTimerLeaseLost = errors.New("the timer's lease belongs to another instance")

// TimerState is what is kept of a timer. Times are zero when not known.
type TimerState struct {
	Last        time.Time // last run
	Next        time.Time // next occurrence
	LastUpdated time.Time
}

// A TimerStore keeps timers and the leases on them, for all instances of a
// host. It is safe for concurrent use.
type TimerStore interface {
	// Acquire takes the lease of a timer for owner until a time, or extends it.
	// held is false, without an error, while another owner's lease lives.
	Acquire(ctx context.Context, timer, owner string, now, until time.Time) (state TimerState, held bool, err error)
	// Save keeps a timer's state. It returns ErrTimerLeaseLost when owner isn't
	// the lease's.
	Save(ctx context.Context, timer, owner string, state TimerState) error
	// Release gives the lease back if it is owner's.
	Release(ctx context.Context, timer, owner string) error
}

// NewMemoryTimers keeps timers in memory, for one process.
func NewMemoryTimers() TimerStore { return &memoryTimers{timers: map[string]memoryTimer{}} }

type memoryTimers struct {
	mu     sync.Mutex
	timers map[string]memoryTimer
}

type memoryTimer struct {
	state TimerState
	owner string
	until time.Time
}

func (m *memoryTimers) Acquire(_ context.Context, timer, owner string, now, until time.Time) (TimerState, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.timers[timer]
	if t.owner != "" && t.owner != owner && now.Before(t.until) {
		return TimerState{}, false, nil
	}
	t.owner, t.until = owner, until
	m.timers[timer] = t
	return t.state, true, nil
}

func (m *memoryTimers) Save(_ context.Context, timer, owner string, state TimerState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.timers[timer]
	if t.owner != owner {
		return ErrTimerLeaseLost
	}
	t.state = state
	m.timers[timer] = t
	return nil
}

func (m *memoryTimers) Release(_ context.Context, timer, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.timers[timer]
	if t.owner == owner {
		t.owner, t.until = "", time.Time{}
		m.timers[timer] = t
	}
	return nil
}
