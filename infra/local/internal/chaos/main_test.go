package chaos

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"
)

// fakeVar makes the test binary one of the programs that a run starts.
const fakeVar = "CHAOS_TEST_FAKE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(fakeVar); mode {
	case "":
		// Tests that run in parallel do nothing but wait.
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	case "lives":
		select {}
	case "serve":
		fakeServe()
	}
}

// fake makes programs that the test starts from now on behave as mode, and
// returns the path of one.
func fake(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeVar, mode)
	return self
}

// fakeServe is a program that serves until it is interrupted. It writes its
// endpoints into the file that its only argument names.
func fakeServe() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if err := os.WriteFile(os.Args[1], []byte(`{"http":"127.0.0.1:1"}`), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-interrupted
}

// eventually waits until done is true.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("in vain")
		}
	}
}
