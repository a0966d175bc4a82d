//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// storming starts chaos and returns it, once clients send, with the ids of the
// handlers' processes.
func storming(t *testing.T) (*process, []int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	p := launch(t, "chaos", "-requests", "20", "-duration", "1m", "-faults", "none", "-crash-points=false", "-tree-kills", "0", "-dir", dir)
	p.until(t, "sending 20 requests")
	handlers := started(t, filepath.Join(dir, "local", "log.txt"))
	if len(handlers) != 2 {
		t.Fatalf("handlers %v, want two", handlers)
	}
	return p, handlers
}

// started returns the ids of the two handlers, once they are in the log.
func started(t *testing.T, log string) []int {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var pids []int
		for line := range strings.Lines(string(content)) {
			var entry struct {
				Msg string
				PID int
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "handler started" {
				pids = append(pids, entry.PID)
			}
		}
		if len(pids) == 2 {
			return pids
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d handlers have started", len(pids))
		}
	}
}

func TestInterruptedChaosLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p, handlers := storming(t)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("interrupted: %v, want exit code %d", err, exitInterrupted)
	}
	wantGone(t, handlers)
}

func TestKilledChaosLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p, handlers := storming(t)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Wait() // tells only that it was killed
	wantGone(t, handlers)
}
