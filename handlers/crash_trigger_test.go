package main

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// The points of an effect are its name with one of these behind it.
const (
	beforeEffect = ".before"
	afterEffect  = ".after"
)

// errDead is returned for effects that come after the end of the process.
var errDead = failure.New(failure.Permanent, "crash", "", errors.New("the process has died"))

// trigger plays the end of the process when it passes an armed point. It is safe
// for concurrent use.
type trigger struct {
	die   func(point string)
	armed map[string]int // at which passing of a point, 1 for the first; fixed

	mu     sync.Mutex
	passed map[string]int
	dead   bool
}

// newTrigger returns a trigger that calls die once, at the first armed point that
// is passed often enough: after it, all effects fail with errDead and do not take
// place.
func newTrigger(armed map[string]int, die func(point string)) *trigger {
	return &trigger{die: die, armed: armed, passed: map[string]int{}}
}

// counts returns how often each point was passed.
func (t *trigger) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.passed)
}

// around carries out an effect between its two points. After the end of the
// process the effect does not take place, or, at the second point, its answer
// is lost: both return errDead.
func (t *trigger) around(effect string, do func() error) error {
	if err := t.pass(effect + beforeEffect); err != nil {
		return err
	}
	err := do()
	if dead := t.pass(effect + afterEffect); dead != nil {
		return dead
	}
	return err
}

func (t *trigger) pass(point string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return errDead
	}
	t.passed[point]++
	if t.armed[point] != t.passed[point] {
		return nil
	}
	t.dead = true
	t.die(point)
	return errDead
}

func TestTrigger(t *testing.T) {
	var died []string
	tr := newTrigger(map[string]int{"save.after": 2}, func(point string) { died = append(died, point) })
	done := 0
	effect := func() error { done++; return nil }

	if err := tr.around("save", effect); err != nil {
		t.Fatalf("the first save: %v", err)
	}
	if err := tr.around("save", effect); !errors.Is(err, errDead) {
		t.Errorf("the answer to the second save: %v, want errDead", err)
	}
	if done != 2 {
		t.Errorf("%d saves took place, want both", done)
	}
	if err := tr.around("send", effect); !errors.Is(err, errDead) || done != 2 {
		t.Errorf("after the end: %v, %d effects", err, done)
	}
	if diff := cmp.Diff([]string{"save.after"}, died); diff != "" {
		t.Errorf("died at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"save.before": 2, "save.after": 2}, tr.counts()); diff != "" {
		t.Errorf("passed (-want +got):\n%s", diff)
	}
}

func TestTriggerBeforeTheEffect(t *testing.T) {
	tr := newTrigger(map[string]int{"save.before": 1}, func(string) {})
	err := tr.around("save", func() error { t.Error("the effect took place"); return nil })
	if !errors.Is(err, errDead) {
		t.Errorf("error %v, want errDead", err)
	}
	want := errors.New("no")
	if err := newTrigger(nil, nil).around("save", func() error { return want }); !errors.Is(err, want) {
		t.Errorf("error %v, want the effect's", err)
	}
}
