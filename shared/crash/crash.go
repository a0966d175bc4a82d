// Package crash lets the process die at chosen points, to show that it may die
// anywhere. An effect on the outside world has two of them: just before it and
// just after it, when nobody has learnt yet that it took place.
//
// The points are armed by a file, so that whoever watches from outside can
// choose them anew each time the process starts. Without the file nothing is
// armed and nothing is in the way of an effect: the caller then leaves the
// effects as they are.
package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// The points of an effect are its name with one of these behind it.
const (
	Before = ".before"
	After  = ".after"
)

// ErrDead is returned for effects that come after the end of the process. Only
// tests see it, where the process lives on.
var ErrDead = failure.New(failure.Permanent, "crash", "", errors.New("the process has died"))

// Plan says where to die.
type Plan struct {
	// Points are armed points, and at which passing each ends the process: 1
	// for the first since the start.
	Points map[string]int `json:"points"`
}

// Trigger ends the process when it passes an armed point. It is safe for
// concurrent use.
type Trigger struct {
	die   func(point string)
	armed map[string]int // fixed

	mu     sync.Mutex
	passed map[string]int
	dead   bool
}

// New returns a trigger that calls die once, at the first armed point that is
// passed often enough. die does not return, but in tests: after it, all effects
// fail with ErrDead and do not take place.
func New(plan Plan, die func(point string)) *Trigger {
	return &Trigger{die: die, armed: maps.Clone(plan.Points), passed: map[string]int{}}
}

// Passed returns how often each point was passed.
func (t *Trigger) Passed() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.passed)
}

// Load reads the plan in the file at path. The process will be killed, as the
// host kills it, once the point is in the file at log, of which each line is a
// point at which a process died. A file that is not there arms nothing.
func Load(path, log string) (*Trigger, error) {
	var plan Plan
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the crash plan: %w", err)
	default:
		if err := json.Unmarshal(content, &plan); err != nil {
			return nil, fmt.Errorf("read the crash plan %s: %w", path, err)
		}
	}
	return New(plan, func(point string) { kill(point, log) }), nil
}

// kill notes the point and ends the process without any grace.
func kill(point, log string) {
	if file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		// A line that can't be written is a point less in the account; the
		// process dies all the same.
		if _, err = file.WriteString(point + "\n"); err == nil {
			_ = file.Sync()
		}
		_ = file.Close()
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until the kernel has done it
}

// Around carries out an effect between its two points. After the end of the
// process the effect does not take place, or, at the second point, its answer
// is lost: both return ErrDead.
func (t *Trigger) Around(effect string, do func() error) error {
	if err := t.pass(effect + Before); err != nil {
		return err
	}
	err := do()
	if dead := t.pass(effect + After); dead != nil {
		return dead
	}
	return err
}

func (t *Trigger) pass(point string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return ErrDead
	}
	t.passed[point]++
	if t.armed[point] != t.passed[point] {
		return nil
	}
	t.dead = true
	t.die(point)
	return ErrDead
}
