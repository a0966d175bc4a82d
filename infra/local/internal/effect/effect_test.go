package effect

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// watch opens a watch by a plan for the run 0a1b2c3d.
func watch(t *testing.T, points map[string]int) (w *Watch, replan func(map[string]int)) {
	t.Helper()
	dir := t.TempDir()
	replan = func(points map[string]int) {
		t.Helper()
		if err := (Plan{Run: "0a1b2c3d", Points: points}).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	replan(points)
	w, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, replan
}

const handler = "0a1b2c3d0002.4711 azsdk-go-azservicebus/v1"

// Ensure that the effects of nobody but the run's handlers count.
func TestOnlyHandlersOfTheRunDie(t *testing.T) {
	w, _ := watch(t, map[string]int{"send.q.before": 1})
	for _, agent := range []string{
		"", "azsdk-go-azservicebus/v1", "0a1b2c3d0002", "0a1b2c3d0002.x azsdk", "0a1b2c3d0002.0", "0a1b2c3d0002.1", "0a1b2c3d0002.-7",
		"ffffffff0002.4711 azsdk", "azsdk 0a1b2c3d0002.4711",
	} {
		if w.Watches(agent) || w.Passes(agent, Before, Send("Q")) != nil {
			t.Errorf("%q counts", agent)
		}
	}
	if death := w.Passes(handler, Before, Send("Q")); death == nil || death.pid != 4711 || death.point != "send.q.before" {
		t.Errorf("the handler's first effect: %+v", death)
	}
	var none *Watch
	if none.Watches(handler) || none.Passes(handler, Before, Notice) != nil {
		t.Error("no watch kills")
	}
	none.Close()
}

// Ensure that a handler dies at the passing that the plan says, once, and that
// another plan counts anew.
func TestThePassingOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, replan := watch(t, map[string]int{"write.c.S.answer": 3, "call.PUT.F.before": 1})
		pass := func(n int, want map[int]bool) {
			t.Helper()
			for i := 1; i <= n; i++ {
				if death := w.Passes(handler, Answer, Write("c", ""), Write("c", "S")); (death != nil) != want[i] {
					t.Errorf("passing %d: %+v", i, death)
				}
				if w.Passes(handler, Before, Write("c", "S")) != nil || w.Passes(handler, Answer, Write("c", "T")) != nil {
					t.Error("another point than the plan's")
				}
			}
		}
		pass(6, map[int]bool{3: true})
		replan(map[string]int{"write.c.S.answer": 2})
		time.Sleep(2 * followPause)
		if w.Passes(handler, Before, Call("PUT", "F")) != nil {
			t.Error("a point of the plan before")
		}
		pass(4, map[int]bool{2: true})
		if err := os.WriteFile(planFile(w.dir), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * followPause)
		if !w.Watches(handler) {
			t.Error("half a plan ends the one in force")
		}
		replan(nil)
		time.Sleep(2 * followPause)
		if w.Watches(handler) {
			t.Error("a plan without points watches")
		}
	})
}

func TestOpenRefusesWhatIsNoPlan(t *testing.T) {
	dir := t.TempDir()
	for _, content := range []string{"", "{", `{"run":"short"}`} {
		if content != "" {
			if err := os.WriteFile(planFile(dir), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if w, err := Open(dir, slog.New(slog.DiscardHandler)); err == nil {
			w.Close()
			t.Errorf("%q is taken", content)
		}
	}
}

func TestInstances(t *testing.T) {
	p := Plan{Run: "0a1b2c3d"}
	one, two := p.InstanceID("instance 1"), p.InstanceID("instance 2")
	if len(one) != 64 || one[:12] == two[:12] || one != p.InstanceID("instance 1") {
		t.Errorf("instances %q and %q", one, two)
	}
	if _, ok := processOf(one[:12]+".99 azsdk", p.Run); !ok {
		t.Errorf("%q is no instance of the run", one)
	}
}

// fakes are processes whose end the test decides.
type fakes struct {
	err  error
	dead bool // before it is killed
	gone chan struct{}
}

func (f *fakes) kill(int) (func() bool, error) {
	if f.err != nil || f.dead {
		return nil, f.err
	}
	return func() bool {
		select {
		case <-f.gone:
			return true
		default:
			return false
		}
	}, nil
}

// Ensure that an effect is held until its process is reaped and its connection
// has ended, and that a connection which stays means that another was killed.
func TestADeathIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		processes    fakes
		gone, closed time.Duration // 0 for never
		want         time.Duration
		deaths       map[string]int
		failure      string
	}{
		"reaped last":       {gone: 3 * time.Second, closed: time.Second, want: 3 * time.Second, deaths: map[string]int{"notice.answer": 1}},
		"closed last":       {gone: time.Second, closed: 3 * time.Second, want: 3 * time.Second, deaths: map[string]int{"notice.answer": 1}},
		"another is killed": {gone: time.Second, want: patience, failure: "notice.answer: process 4711: it is gone, and the connection"},
		"does not go":       {closed: time.Second, want: patience, failure: "it is still there"},
		"can't be killed":   {processes: fakes{err: os.ErrPermission}, closed: time.Second, failure: "permission denied"},
		"dead before":       {processes: fakes{dead: true}, closed: time.Second, want: time.Second, deaths: map[string]int{}},
		"dead before, and the connection is another's": {processes: fakes{dead: true}, want: patience, failure: "the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := watch(t, map[string]int{"notice.answer": 1})
				defer w.Close()
				c.processes.gone = make(chan struct{})
				w.processes = &c.processes
				closed := make(chan struct{})
				if c.gone > 0 {
					time.AfterFunc(c.gone, func() { close(c.processes.gone) })
				}
				if c.closed > 0 {
					time.AfterFunc(c.closed, func() { close(closed) })
				}
				begun := time.Now()
				w.Passes(handler, Answer, Notice).Bring(closed)
				if took := time.Since(begun); took != c.want && took != c.want+lookPause {
					t.Errorf("held for %v, want %v", took, c.want)
				}
				deaths, err := Deaths(w.dir)
				if c.failure != "" {
					if err == nil || !strings.Contains(err.Error(), c.failure) {
						t.Errorf("deaths %v, error %v; want %q", deaths, err, c.failure)
					}
					return
				}
				if diff := cmp.Diff(c.deaths, deaths); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			})
		})
	}
}

// Ensure that a real process is told to be gone when its parent has reaped it,
// and not before.
func TestAProcessIsGoneWhenItIsReaped(t *testing.T) {
	if os.Getenv("EFFECT_TEST_LIVES") != "" {
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProcessIsGoneWhenItIsReaped$")
	cmd.Env = append(os.Environ(), "EFFECT_TEST_LIVES=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone, err := system{}.kill(cmd.Process.Pid)
	if err != nil || gone == nil {
		t.Fatalf("kill: %v", err)
	}
	if gone() {
		t.Error("it is gone before its parent has looked")
	}
	_ = cmd.Wait() // it was killed
	for limit := time.After(2 * time.Minute); !gone(); {
		select {
		case <-limit:
			t.Fatal("it has ended, and is not gone")
		default:
		}
	}
	if gone, err := (system{}).kill(cmd.Process.Pid); gone != nil || err != nil {
		t.Errorf("killed again: %v", err)
	}
}

// Ensure that a line that is being written does not count.
func TestDeathsThatAreBeingWritten(t *testing.T) {
	dir := t.TempDir()
	if deaths, err := Deaths(dir); len(deaths) != 0 || err != nil {
		t.Errorf("without a file: %v, %v", deaths, err)
	}
	for _, line := range []string{"notice.before", "send.q.answer", "notice.before"} {
		if err := noteDeath(dir, line); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(deathsFile(dir), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprint(file, "send.q.ans")
	deaths, err := Deaths(dir)
	if diff := cmp.Diff(map[string]int{"notice.before": 2, "send.q.answer": 1}, deaths); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func BenchmarkNoWatch(b *testing.B) {
	var w *Watch
	ctx := context.Background()
	for b.Loop() {
		if w.Passes(handler, Before, Notice) != nil || ctx.Err() != nil {
			b.Fatal("killed")
		}
	}
}
