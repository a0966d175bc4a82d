//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree is a served system with two instances: the process, its child that is
// the second instance, and the handlers of both.
type tree struct {
	*process
	child    int
	handlers []int
}

func (r tree) all() []int { return append([]int{r.child}, r.handlers...) }

// serveTwo serves with two instances.
func serveTwo(t *testing.T, args ...string) tree {
	t.Helper()
	r := tree{process: launch(t, append([]string{
		"serve", "-verbose", "-instances", "2", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0"}, args...)...)}
	// In any order: the further instance starts while this one makes its sample accounts.
	for serving := false; !serving || r.child == 0 || len(r.handlers) < 2; {
		lines := r.until(t, `started"`, "Ctrl-C stops everything")
		last := lines[len(lines)-1]
		if strings.Contains(last, "Ctrl-C stops everything") {
			serving = true
			continue
		}
		var entry struct {
			Msg string
			PID int
		}
		if err := json.Unmarshal([]byte(last), &entry); err != nil || entry.PID == 0 {
			t.Fatalf("%s: %v", last, err)
		}
		if entry.Msg == "instance started" {
			r.child = entry.PID
		} else {
			r.handlers = append(r.handlers, entry.PID)
		}
	}
	return r
}

// wantGone fails unless the processes end soon.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for !gone(pid) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("process %d is left behind", pid)
			}
		}
	}
}

// gone reports whether a process has ended. What is left of one that nobody has
// waited for yet, as init does in its own time, doesn't count.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	r := serveTwo(t)
	if err := r.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Errorf("interrupted: %v, want exit code 0", err)
	}
	wantGone(t, r.all())
}

func TestKillLeavesNothingBehind(t *testing.T) {
	r := serveTwo(t)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.Wait() // tells only that it was killed
	wantGone(t, r.all())
}

// Ensure that the handler of an instance dies with it, and that the instance is
// replaced.
func TestKilledInstanceIsReplaced(t *testing.T) {
	r := serveTwo(t)
	if err := syscall.Kill(r.child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.until(t, "instance 2 ended: signal: killed; a new one takes its place")
	r.until(t, `"handler started"`)
	wantGone(t, r.handlers[1:])
}

// Ensure that a demo whose store can't write ends with the error, at once, and
// leaves nothing behind: it must not wait for answers that can't come.
func TestDemoEndsWithTheStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	p := launch(t, "demo", "-app", app, "-instances", "2", "-data", folder, "-http", "0", "-amqp", "0", "-cosmos", "0")
	p.until(t, "sending ")
	if err := os.RemoveAll(folder); err != nil { // nothing is kept in it from now on
		t.Fatal(err)
	}
	removed := time.Now()
	lines := p.until(t, "local: ")
	want := "nothing can be kept in " + folder + " any more: "
	if last := lines[len(lines)-1]; !strings.Contains(last, want) || !strings.Contains(last, "mend the cause and start again") {
		t.Errorf("%s, want %q in it, and what to do", last, want)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitError {
		t.Errorf("ended: %v, want exit code %d", err, exitError)
	}
	if took := time.Since(removed); took > 10*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// Ensure that the plan of faults holds in the further instances as well, though
// it was made when everything served.
func TestPlanHoldsInAllInstances(t *testing.T) {
	r := serveTwo(t, "-profile", "chaos")
	var endpoints struct{ Admin string }
	text, err := os.ReadFile(filepath.Join(filepath.Dir(app), "local", "endpoints.json"))
	if err == nil {
		err = json.Unmarshal(text, &endpoints)
	}
	if err != nil {
		t.Fatal(err)
	}
	put, err := http.NewRequest(http.MethodPut, endpoints.Admin+"/faults", strings.NewReader(`{"seed":1,"rates":{"handler.kill":60}}`))
	if err != nil {
		t.Fatal(err)
	}
	put.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("PUT /faults: %s", resp.Status)
	}
	wantGone(t, r.handlers)
}
