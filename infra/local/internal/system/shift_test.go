package system_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// replaced counts the notices of hosts that were replaced.
func (r *run) replaced() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(strings.Join(r.notices, "\n"), "a new one takes its place")
}

// logged reports whether a text is in the log.
func (r *run) logged(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.log.String(), text)
}

// Ensure that the platform's stop of a host kills its handler and puts another
// host in its place, at the same address, however often.
func TestStoppedHostIsReplaced(t *testing.T) {
	r := start(t)
	for n := range 4 { // more than the crashes that a host may have
		before := r.Instance.Host()
		pid := before.HandlerPID()
		if err := r.Instance.StopHost(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.Instance.Host() == before {
			t.Fatal("the host is still there")
		}
		if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
			t.Errorf("handler %d outlives its host", pid)
		}
		if r.replaced() != n+1 {
			t.Errorf("%d notices of %d replacements", r.replaced(), n+1)
		}
		r.want(http.StatusOK, http.MethodGet, "/api/live", "")
	}
}

// Ensure that a host whose handler dies before it is ready is replaced like any other, as long as
// one before it was ready.
func TestHostThatIsNeverReadyIsReplaced(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.killed = true
	dead := 0
	await(t, "the second replacement", func() bool {
		if pid := r.Instance.Host().HandlerPID(); pid != 0 && pid != dead {
			dead = pid
			kill(t, pid)
		}
		return r.replaced() == 2
	})
	r.accept("after")
	r.complete("after")
}

// Ensure that an act that waits for its moment ends with the host that it waits
// for, and that the next host is as any other.
func TestStopInRetryEndsWithTheHost(t *testing.T) {
	t.Parallel()
	r := start(t)
	stopped := make(chan error, 1)
	go func() { stopped <- r.Instance.StopHostInRetry(t.Context()) }()
	before := r.Instance.Host()
	await(t, "the act's end", func() bool { // which may not have begun with the first stop
		if err := r.Instance.StopHost(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(stopped) == 1
	})
	if err := <-stopped; err == nil || r.Instance.Host() == before {
		t.Errorf("the act ended with %v", err)
	}
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/next", request("p-next", time.Now()))
	r.await("next", "Completed", func(p progress) bool { return p.State == "Completed" })
}

// insist makes a call until its answer is as wanted, whatever is in the way.
func (r *run) insist(what, method, path, body string, ok func(status int, answer string) bool) {
	r.t.Helper()
	await(r.t, what, func() bool {
		req, err := http.NewRequestWithContext(r.t.Context(), method, r.url(path), strings.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := r.client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return err == nil && ok(resp.StatusCode, string(answer))
	})
}

// accept sends a request until it is accepted.
func (r *run) accept(id string) {
	r.t.Helper()
	r.insist("accept "+id, http.MethodPut, "/api/deliveryrequests/"+id, request("p-"+id, time.Now()),
		func(status int, _ string) bool { return status == http.StatusAccepted })
}

// complete waits until a transaction is Completed.
func (r *run) complete(id string) {
	r.t.Helper()
	r.insist("complete "+id, http.MethodGet, "/api/deliveryrequests/"+id, "", func(status int, answer string) bool {
		return status == http.StatusOK && strings.Contains(answer, `"state":"Completed"`)
	})
}

// Ensure that events which the trigger has passed over are relayed all the same.
func TestEventsOfAStoppedRetryAreRelayed(t *testing.T) {
	t.Parallel()
	r := startConfig(t, system.Config{Profile: profile(t, "chaos")})
	stopped := make(chan error, 1)
	go func() { stopped <- r.Instance.StopHostInRetry(t.Context()) }()
	var ids []string
	for len(stopped) == 0 {
		id := fmt.Sprint("skipped-", len(ids))
		r.accept(id)
		ids = append(ids, id)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		r.complete(id)
	}
	await(t, "Relay to tell of the gap", func() bool { return r.logged("the trigger has skipped events") })
}

// Ensure that the system gets over all acts and all that can happen to a call,
// and that all of it happens.
func TestActsAndBackendFaults(t *testing.T) {
	t.Parallel()
	faults := fault.New()
	// Requests come until all has happened, so drones must come back meanwhile.
	r := startConfig(t, system.Config{Profile: profile(t, "chaos"), Faults: faults, Settings: map[string]string{"FLIGHT_TIME_SCALE": "0.01"}})
	plan := fault.Plan{Seed: 5, SlowSeconds: 1, Rates: map[fault.Point]float64{}}
	for _, info := range fault.Points {
		switch {
		case info.Lasts: // by bursts alone
		case info.Point == fault.HostStopInRetry:
			plan.Rates[info.Point] = 20
		case info.Act:
			plan.Rates[info.Point] = 8 // fewer: host.stopinretry needs a host that stays, and reads, for retryPatience
		case strings.HasPrefix(string(info.Point), "backend.") && info.Point != fault.BackendUndoRefused:
			plan.Rates[info.Point] = 0.05
		}
	}
	if err := faults.Set(plan); err != nil {
		t.Fatal(err)
	}
	happened := func() bool {
		counts := faults.Counts()
		for p := range plan.Rates {
			if counts[p].Hit == 0 {
				return false
			}
		}
		return true
	}
	var ids []string
	await(t, "everything to happen", func() bool {
		id := fmt.Sprint("broken-", len(ids))
		r.accept(id)
		ids = append(ids, id)
		return happened()
	})
	if err := faults.Set(fault.Plan{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests, %v", len(ids), faults.Counts())
	begun := time.Now()
	for _, id := range ids {
		r.complete(id)
	}
	t.Logf("final after %v, bound %v", time.Since(begun), r.Recovery())
}
