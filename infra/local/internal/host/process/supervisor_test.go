package process

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRunsAndKills(t *testing.T) {
	f := start(t, "serve", nil)
	pid := f.ready(t)
	f.until(t, "false to stdout")
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f.cancel()
	if err := f.end(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("handler %d still answers", pid)
	}
	f.until(t, "true to stderr, without an end")
	if err := f.WaitReady(context.Background(), time.Second); !errors.Is(err, ErrStopped) {
		t.Errorf("WaitReady after the end: %v", err)
	}
	if f.PID() != 0 {
		t.Errorf("PID after the end: %d", f.PID())
	}
}

func TestExitCode200RestartsWithoutLimit(t *testing.T) {
	f := start(t, "serve", nil)
	for range maxCrashes + 1 {
		f.ready(t)
		f.exit(t, 200)
	}
	f.ready(t)
}

func TestExitCode0IsNeverRestarted(t *testing.T) {
	f := start(t, "serve", nil)
	f.ready(t)
	f.exit(t, 0)
	f.until(t, "exited with code 0")
	if f.ready(t); f.PID() != 0 {
		t.Errorf("a handler runs: %d", f.PID())
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://")); err == nil {
		t.Error("the port is open")
	}
}

func TestThirdCrashEndsTheHost(t *testing.T) {
	f := start(t, "serve", nil)
	f.ready(t)
	f.exit(t, 1)
	f.ready(t)
	f.exit(t, 2)
	f.ready(t)
	f.exit(t, 3)
	if err := f.end(t); !errors.Is(err, ErrExceededRestarts) {
		t.Errorf("Run: %v", err)
	}
}

func TestCrashAtStartShowsLastWords(t *testing.T) {
	f := start(t, "exit:7", nil)
	err := f.end(t)
	if !errors.Is(err, ErrExceededRestarts) || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "second | third | last words") {
		t.Errorf("Run: %v", err)
	}
}

func TestCrashesAreForgottenAfterTheWindow(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	f := start(t, "serve", func(o *Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(crashWindow + time.Second)
			return now
		}
	})
	for range maxCrashes + 1 {
		f.ready(t)
		f.exit(t, 1)
	}
	f.ready(t)
}

func TestKilledHandlerIsACrash(t *testing.T) {
	f := start(t, "serve", nil)
	pid := f.ready(t)
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	f.until(t, "the handler crashed")
	for f.PID() == pid {
		f.nextChange()
	}
	if again := f.ready(t); again == pid {
		t.Error("the same process is back")
	}
}

func TestHandlerThatNeverListensIsACrash(t *testing.T) {
	f := start(t, "deaf", func(o *Options) { o.InitializationTimeout = 60 * time.Millisecond })
	err := f.end(t)
	if !errors.Is(err, ErrExceededRestarts) || !strings.Contains(err.Error(), "initializationTimeout") {
		t.Errorf("Run: %v", err)
	}
}

func TestMissingExecutableEndsTheHost(t *testing.T) {
	f := start(t, "serve", func(o *Options) { o.Path = "no-such-handler-anywhere" })
	if err := f.end(t); !errors.Is(err, ErrExceededRestarts) || !strings.Contains(err.Error(), "no-such-handler-anywhere") {
		t.Errorf("Run: %v", err)
	}
}

func TestRestart(t *testing.T) {
	f := start(t, "serve", nil)
	for range maxCrashes + 1 {
		pid := f.ready(t)
		f.Restart(pid + 1_000_000) // another process: nothing happens
		if f.PID() != pid {
			t.Fatal("another id restarted the handler")
		}
		f.Restart(pid)
		for f.PID() == pid {
			f.nextChange()
		}
	}
	f.ready(t)
}

func TestWaitReadyGivesUp(t *testing.T) {
	f := start(t, "deaf", nil)
	if err := f.WaitReady(context.Background(), time.Millisecond); err == nil {
		t.Error("WaitReady: want an error after its limit")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.WaitReady(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitReady: %v", err)
	}
}

// TestHandlerDiesWithItsParent kills a parent with SIGKILL and waits until the
// connection to its child breaks.
func TestHandlerDiesWithItsParent(t *testing.T) {
	port := freePort(t)
	o := options("parent", port, nil)
	cmd := exec.Command(o.Path)
	cmd.Env = o.Env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := readUntil(bufio.NewReader(out), "ready"); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the parent ended well")
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); err == nil || (errors.As(err, &timeout) && timeout.Timeout()) {
		t.Errorf("the handler outlives its parent: %v", err)
	}
}

func TestLines(t *testing.T) {
	var got []string
	l := newLines(func(s string, _ bool) { got = append(got, s) }, true)
	for _, p := range []string{"a", "b\nc\r\n\n", strings.Repeat("x", maxLine+1), "rest"} {
		if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.flush()
	want := []string{"ab", "c", "", strings.Repeat("x", maxLine+1), "rest"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%d lines: %.100q", len(got), got)
	}
	if tail := l.tail(); len(tail) != tailLines || tail[2] != "rest" {
		t.Errorf("tail has %d lines", len(tail))
	}
}
