package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// app is the staged app that all tests of the package run.
var app string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "system-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		project, err := stage.FindProject(".")
		if err == nil {
			err = flag.Set("test.parallel", atOnce)
		}
		if err == nil {
			app = filepath.Join(dir, "app")
			err = stage.Stage(context.Background(), stage.Options{Project: project, Out: app, Target: stage.Local})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// freePorts are addresses that no other test has.
var freePorts = system.Addresses{HTTP: "127.0.0.1:0", AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}

// short are time budgets that keep their order and make a recovery quick.
var short = map[string]string{
	"CALL_TIMEOUT_SECONDS": "1", "STEP_TIMEOUT_SECONDS": "2", "INVOCATION_TIMEOUT_SECONDS": "3",
	"LEASE_SECONDS": "7", "LATER_MIN_SECONDS": "0.2", "LATER_MAX_SECONDS": "2",
	"MESSAGE_LOCK_SECONDS": "5", "SWEEP_SCHEDULE": "* * * * * *",
	"FLIGHT_TIME_SCALE": "0.0005",
}

// run is a running system of one test.
type run struct {
	*system.System
	t       testing.TB
	client  *http.Client
	killed  bool // the handler is killed at times
	mu      sync.Mutex
	notices []string
	log     bytes.Buffer
}

// start runs the app with settings on top of the default ones. When the test
// fails, the log is printed. Tests that mostly wait for it run in parallel: each has
// a system and ports of its own.
func start(t testing.TB, settings ...map[string]string) *run {
	t.Helper()
	set := map[string]string{}
	for _, s := range settings {
		maps.Copy(set, s)
	}
	return startConfig(t, system.Config{Settings: set})
}

// startConfig is start with more than settings.
func startConfig(t testing.TB, c system.Config) *run {
	t.Helper()
	r := &run{t: t, client: http.DefaultClient}
	c.App, c.Addresses, c.Admin = app, freePorts, "127.0.0.1:0"
	c.Logger = slog.New(slog.NewTextHandler(r, nil))
	c.HandlerLog = func(line string, _ bool) { fmt.Fprintln(r, line) }
	c.Notice = func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notices = append(r.notices, text)
	}
	s, err := system.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.System = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", r.log.Bytes())
		}
	})
	if err := workload.Prepare(t.Context(), workload.ClientOptions{URL: r.Endpoints().BackendsURL()}, chosentrial.Trial().Before); err != nil {
		t.Fatal(err)
	}
	return r
}

// Write takes the log.
func (r *run) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(line)
}

func (r *run) url(path string) string { return "http://" + r.Endpoints().HTTP + path }

// answer is what came back from the app.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (r *run) call(method, path, body string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url(path), strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// want calls and fails the test unless the status is as wanted.
func (r *run) want(status int, method, path, body string) answer {
	r.t.Helper()
	a := r.call(method, path, body)
	if a.Status != status {
		r.t.Fatalf("%s %s: %d %s, want %d", method, path, a.Status, a.Body, status)
	}
	return a
}

func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return v
}

type progress struct {
	State, Cause, Reason string
	Revision             int
	Observed             bool
	Steps                []struct{ Name, State, Effect string }
	Operations           []struct{ ID, Kind, State, Reason string }
}

func (p progress) operation(id string) string {
	for _, o := range p.Operations {
		if o.ID == id {
			return o.State
		}
	}
	return ""
}

// await reads a transaction until it is as wanted.
func (r *run) await(id, what string, ok func(progress) bool) progress {
	r.t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		a := r.want(http.StatusOK, http.MethodGet, "/api/deliveryrequests/"+id, "")
		if p := decode[progress](r.t, a); ok(p) {
			return p
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatalf("%s is not %s: %s", id, what, a.Body)
		}
	}
}

// later is a pickup that no test outlasts, however the waits are scaled: until then
// a delivery can be changed.
func later() time.Time { return time.Now().Add(20 * 24 * time.Hour) }

// request is the body of a delivery request.
func request(packageID string, pickup time.Time) string {
	return fmt.Sprintf(`{"ownerId":"owner-1","pickup":{"latitude":47.6,"longitude":-122.3},
		"dropOff":{"latitude":47.62,"longitude":-122.31},"pickupTime":%q,"deliverBy":%q,"expedited":false,
		"confirmationRequired":"None","packageInfo":{"packageId":%q,"size":"Small","weightKg":1.5,"tag":"books"}}`,
		pickup.UTC().Format(time.RFC3339), pickup.Add(5*time.Hour).UTC().Format(time.RFC3339), packageID)
}
