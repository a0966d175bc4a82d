//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"time"
)

// serveTwo serves with two instances, and returns the process and the ids of
// the handlers' processes.
func serveTwo(t *testing.T) (*process, []int) {
	t.Helper()
	p := launch(t, "serve", "-verbose", "-instances", "2", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0")
	var handlers []int
	for len(handlers) < 2 {
		lines := p.until(t, `"handler started"`)
		var entry struct{ PID int }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &entry); err != nil || entry.PID == 0 {
			t.Fatalf("%s: %v", lines[len(lines)-1], err)
		}
		handlers = append(handlers, entry.PID)
	}
	p.until(t, "Ctrl-C stops everything")
	return p, handlers
}

// wantGone fails unless the processes end soon.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("process %d is left behind", pid)
			}
		}
	}
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	p, handlers := serveTwo(t)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("interrupted: %v, want exit code 0", err)
	}
	wantGone(t, handlers)
}

func TestKillLeavesNothingBehind(t *testing.T) {
	p, handlers := serveTwo(t)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Wait() // tells only that it was killed
	wantGone(t, handlers)
}
