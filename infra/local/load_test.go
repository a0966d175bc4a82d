package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/bench"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// Ensure that load offers what it is told to, with its token, and reports what came
// of it, for people and for scripts.
func TestLoadOfAnAppThatRuns(t *testing.T) {
	var taken, strangers atomic.Int64
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/metrics" {
			http.NotFound(w, r)
			return
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/api/deliveryrequests" {
			strangers.Add(1)
		}
		if taken.Add(1)%10 == 0 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		w.Write([]byte(`{"transactionId":"t"}`))
	}))
	defer app.Close()
	t.Setenv(loadTokenVariable, "secret")
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	args := []string{"load", "-url", app.URL + "/api/", "-rate", "100:500ms,100-300:500ms", "-dir", dir, "-json"}
	if exit := run(t.Context(), console{args: args, out: &out, errOut: &errOut}); exit != exitOK {
		t.Fatalf("exit %d: %s", exit, &errOut)
	}
	if taken.Load() != 150 || strangers.Load() != 0 {
		t.Errorf("%d requests, %d of them not as they should be", taken.Load(), strangers.Load())
	}
	var last struct{ Report load.Report }
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"report"`) })
	if i < 0 || json.Unmarshal([]byte(lines[i]), &last) != nil {
		t.Fatalf("no report in %s", &out)
	}
	r := last.Report.Result
	if r.Offered != 150 || r.Accepted != 135 || r.Refused != 15 || r.Failed != 0 || r.Latency.Count != 135 || last.Report.Counts != nil || last.Report.Target != app.URL {
		t.Errorf("%+v %+v", last.Report, r)
	}
	for _, name := range []string{"latency.svg", "backlog.svg"} {
		if svg, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasSuffix(string(svg), "</svg>\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	out.Reset()
	if exit := run(t.Context(), console{args: args[:len(args)-1], out: &out, errOut: &errOut}); exit != exitOK || !strings.Contains(out.String(), "150 requests in") || !strings.Contains(out.String(), "shows no metrics: how many wait") {
		t.Errorf("exit %d: %s", exit, &out)
	}
}

func TestScenariosOf(t *testing.T) {
	for words, want := range map[string][]string{
		"whole ingest whole": {"whole", "ingest"},
		"soak all":           {"soak", "ingest", "handler", "workflow", "tail", "whole", "spike", "overload"},
		"all backlog":        {"ingest", "handler", "workflow", "tail", "whole", "spike", "overload", "backlog"},
	} {
		got, err := scenariosOf(strings.Fields(words))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", words, err, diff)
		}
	}
}

// Ensure that a broken promise is an error, and a missed target is none.
func TestBroken(t *testing.T) {
	outcomes := []*bench.Outcome{{Scenario: "spike", Checks: []bench.Check{{What: "p99", Got: "600ms"}, {What: "lost of 7", Got: "0", Met: true}}}}
	if err := broken(outcomes); err != nil {
		t.Errorf("a target: %v", err)
	}
	outcomes[0].Checks[1] = bench.Check{What: "lost of 7", Got: "1", Lost: true}
	if err := broken(outcomes); err == nil || err.Error() != "spike: lost of 7: 1" {
		t.Errorf("a promise: %v", err)
	}
}
