package ingest_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
)

// instance is one that answers one request after the other, on a clock of its own.
type instance struct {
	throttle *ingest.Throttle
	now      time.Time
	inside   []time.Time // when those entered that are under way, the oldest first
	refused  int
	answered int
	slowest  time.Duration
}

const throttleTarget = 200 * time.Millisecond

func newInstance() *instance {
	return &instance{throttle: ingest.NewThrottle(throttleTarget), now: time.Unix(1_000_000, 0)}
}

// run lets so many requests arrive, and at most so many be answered, each
// millisecond for a time. It counts anew.
func (i *instance) run(lasts time.Duration, arrive, answer int) {
	i.refused, i.answered, i.slowest = 0, 0, 0
	for range lasts / time.Millisecond {
		i.now = i.now.Add(time.Millisecond)
		for range arrive {
			if i.throttle.Enter() {
				i.inside = append(i.inside, i.now)
			} else {
				i.refused++
			}
		}
		for range min(answer, len(i.inside)) {
			i.throttle.Leave(i.inside[0], i.now)
			i.slowest = max(i.slowest, i.now.Sub(i.inside[0]))
			i.inside = i.inside[1:]
			i.answered++
		}
	}
}

// Ensure that an overloaded instance is as busy as before, answers near its target,
// and refuses the rest; and that it takes all again when the overload is over.
func TestThrottleInOverload(t *testing.T) {
	for _, capacity := range []int{1, 3, 10} { // a millisecond
		i := newInstance()
		i.run(5*time.Second, 2*capacity, capacity)
		i.run(10*time.Second, 2*capacity, capacity)
		if want := 10_000 * capacity; i.answered != want || i.refused < want*9/10 || i.slowest > throttleTarget*3/2 {
			t.Errorf("capacity %d: %d answered, the slowest after %v, %d refused", capacity, i.answered, i.slowest, i.refused)
		}
		i.run(time.Second, capacity, 2*capacity)
		if i.refused > 0 {
			t.Errorf("capacity %d: %d refused after the overload", capacity, i.refused)
		}
	}
}

// Ensure that a pause of what is behind the instance costs it nothing while few
// requests are under way, and soon nothing else.
func TestThrottleAfterAPause(t *testing.T) {
	i := newInstance()
	i.run(2*time.Second, 1, 5)
	i.run(150*time.Millisecond, 1, 0)
	i.run(time.Second, 5, 20)
	if i.refused > 0 {
		t.Errorf("few under way: %d refused", i.refused)
	}
	i.run(2*time.Second, 5, 0) // the hub hangs
	if i.refused == 0 {
		t.Error("all were let in that nobody answered")
	}
	i.run(5*time.Second, 5, 20)
	i.run(time.Second, 20, 20)
	if i.refused > 0 {
		t.Errorf("five seconds after the pause: %d refused", i.refused)
	}
}

// Ensure that what fits into a batch is let in however slow the instance is.
func TestThrottleOfASlowInstance(t *testing.T) {
	i := newInstance()
	for range 20 {
		i.run(time.Second, 10, 0)
		i.run(time.Millisecond, 0, 10)
	}
	if n := len(i.inside); n < 90 {
		t.Errorf("%d under way", n)
	}
}
