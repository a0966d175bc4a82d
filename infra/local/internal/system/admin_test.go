package system

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func serveInjector(t *testing.T, in *fault.Injector) *admin {
	t.Helper()
	a, err := startAdmin("127.0.0.1:0", in, nil, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestAdminIsForThisMachineAlone(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		a, err := startAdmin(address, fault.New(), nil, quiet())
		if err == nil {
			t.Errorf("%s is served", address)
			if err := a.close(); err != nil {
				t.Error(err)
			}
		} else if !strings.Contains(err.Error(), "-admin") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// until waits until something is so.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// follow starts a further instance's injector, until the test ends.
func follow(t *testing.T, name string, a *admin) *fault.Injector {
	t.Helper()
	in := fault.NewInstance(name)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		FollowFaults(ctx, in, a.url(), quiet())
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return in
}

// Ensure that what has happened is told once.
func TestCountsAreToldOnce(t *testing.T) {
	first, in := fault.New(), fault.NewInstance("instance 2")
	f := newFollower(in, serveInjector(t, first).url(), quiet())
	defer f.client.CloseIdleConnections()
	plan(t, first, map[fault.Point]float64{fault.BackendError: 1})
	for n := range 3 {
		f.round(t.Context())
		if got := first.Counts()[fault.BackendError].Hit; got != uint64(n) {
			t.Errorf("round %d: the first shows %d, want %d", n, got, n)
		}
		f.round(t.Context()) // nothing new
		in.Hit(fault.BackendError)
	}
}

// Ensure that a further instance has the plan of the first, also when it
// changes, and that the first shows the sum of what has happened.
func TestFollowFaults(t *testing.T) {
	first := fault.New()
	a := serveInjector(t, first)
	plan(t, first, map[fault.Point]float64{fault.BackendError: 1})
	hits := func() uint64 {
		resp, err := http.Get(a.url() + "/faults")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var report struct{ Counts map[fault.Point]fault.Count }
		if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
			t.Fatal(err)
		}
		return report.Counts[fault.BackendError].Hit
	}
	first.Hit(fault.BackendError)
	for n := range 2 { // the second time in the place of one that has ended
		in := follow(t, "instance 2", a)
		until(t, "the plan", func() bool { return in.Hit(fault.BackendError) })
		until(t, "the sum", func() bool { return hits() == uint64(n+2) })
	}
	in := follow(t, "instance 3", a)
	until(t, "the plan", func() bool { return !in.Idle() })
	plan(t, first, nil)
	until(t, "the plan's end", in.Idle)
}

func TestCountsThatCanNotBeRead(t *testing.T) {
	in := fault.New()
	a := serveInjector(t, in)
	resp, err := http.Post(a.url()+countsPath, "application/json", strings.NewReader("[]"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || len(in.Counts()) > 0 {
		t.Errorf("status %d, counts %v", resp.StatusCode, in.Counts())
	}
}
