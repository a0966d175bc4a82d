//go:build unix

package tree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// plant returns a tree of fakes that behave as mode, and a function that gives
// the ids of all its processes so far, by its lives.
func plant(t *testing.T, mode string) (tr *Tree, lives func() [][2]int) {
	t.Helper()
	dir := t.TempDir()
	ports, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	starts := filepath.Join(dir, "starts")
	endpoints := filepath.Join(dir, "endpoints.json")
	tr = New(Config{
		Command:   []string{fake(t, mode), "-http", ports[0], "-endpoints", endpoints, "-starts", starts},
		Endpoints: endpoints, Output: t.Output(), Grace: 10 * time.Second,
	})
	t.Cleanup(func() {
		if err := tr.Kill(); err != nil {
			t.Error(err)
		}
	})
	return tr, func() [][2]int {
		content, err := os.ReadFile(starts)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		var all [][2]int
		for line := range strings.Lines(string(content)) {
			var pids [2]int
			if _, err := fmt.Sscan(line, &pids[0], &pids[1]); err != nil {
				t.Fatal(err)
			}
			all = append(all, pids)
		}
		return all
	}
}

func up(t *testing.T, tr *Tree) system.Endpoints {
	t.Helper()
	if err := tr.Launch(); err != nil {
		t.Fatal(err)
	}
	e, err := tr.Serving(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + e.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return e
}

// wantNone fails if a process is left that is more than a zombie, which only
// its new parent can clear away.
func wantNone(t *testing.T, lives [][2]int) {
	t.Helper()
	for _, pids := range lives {
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("process %d is left behind", pid)
			}
		}
	}
}

func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// Ensure that a tree that is killed leaves nothing behind, and comes back at the
// same address.
func TestTreeIsKilledAndComesBack(t *testing.T) {
	tr, lives := plant(t, "serve")
	first := up(t, tr)
	for range 2 {
		if err := tr.Kill(); err != nil {
			t.Fatal(err)
		}
		wantNone(t, lives())
		if again := up(t, tr); again != first {
			t.Errorf("it came back at %+v, and was at %+v", again, first)
		}
	}
	if n := len(lives()); n != 3 {
		t.Errorf("%d lives, want 3", n)
	}
}

func TestTreeStops(t *testing.T) {
	for _, mode := range []string{"serve", "stubborn serve"} {
		t.Run(mode, func(t *testing.T) {
			tr, lives := plant(t, mode)
			if mode == "stubborn serve" {
				tr.c.Grace = 50 * time.Millisecond
			}
			up(t, tr)
			if err := tr.Stop(); err != nil {
				t.Fatal(err)
			}
			wantNone(t, lives())
			if err := tr.Stop(); err != nil {
				t.Errorf("stopped again: %v", err)
			}
		})
	}
}

// Ensure that a tree can be killed before it serves.
func TestTreeIsKilledWhileItRecovers(t *testing.T) {
	tr, lives := plant(t, "slow serve")
	if err := tr.Launch(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(lives()) > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Serving(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it serves too early: %v", err)
	}
	if err := tr.Kill(); err != nil {
		t.Fatal(err)
	}
	wantNone(t, lives())
}

func TestTreeThatCannotStart(t *testing.T) {
	tr, lives := plant(t, "broken serve")
	if err := tr.Launch(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Serving(t.Context()); !errors.Is(err, ErrNotServing) || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("error %v, want that it has stopped by itself, and how", err)
	}
	if err := tr.Kill(); err != nil {
		t.Error(err)
	}
	wantNone(t, lives())
	tr.c.Command = []string{filepath.Join(t.TempDir(), "nothing")}
	if err := tr.Launch(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// Ensure that what is held is for nobody else until it is released, and then for anybody.
func TestHeldPorts(t *testing.T) {
	held, release, err := HoldPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range held {
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			t.Errorf("%s is free", address)
		}
	}
	release()
	for _, address := range held {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
