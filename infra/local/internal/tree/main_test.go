package tree

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"testing"
	"time"
)

// fakeVar makes the test binary one of the programs that a tree is.
const fakeVar = "TREE_TEST_FAKE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(fakeVar); mode {
	case "":
		os.Exit(m.Run())
	case "child":
		select {}
	default:
		fakeServe(mode)
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

// fakeServe is a program that serves: it listens, has a child, notes that it
// was started, and ends when it is interrupted.
func fakeServe(mode string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	address := flags.String("http", "", "")
	endpoints := flags.String("endpoints", "", "")
	starts := flags.String("starts", "", "")
	check(flags.Parse(os.Args[1:]))
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fakeVar+"=child")
	check(child.Start())
	f, err := os.OpenFile(*starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = fmt.Fprintf(f, "%d %d\n", os.Getpid(), child.Process.Pid)
	check(err)
	if mode == "broken serve" {
		check(child.Process.Kill())
		check(fmt.Errorf("broken"))
	}
	if mode == "slow serve" {
		<-interrupted
		os.Exit(0)
	}
	l, err := net.Listen("tcp", *address)
	check(err)
	go http.Serve(l, http.NotFoundHandler())
	check(os.WriteFile(*endpoints, fmt.Appendf(nil, `{"http":%q}`, l.Addr()), 0o600))
	for range interrupted {
		if mode != "stubborn serve" {
			check(child.Process.Kill())
			os.Exit(0)
		}
	}
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
