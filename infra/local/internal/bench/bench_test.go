package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

func effort(done int, took, cpu time.Duration) Effort {
	return Effort{Done: done, Took: took, CPU: cpu, Busy: 1}
}

// Ensure that a ratio is that of one round, and more of it is better.
func TestRatios(t *testing.T) {
	c := Comparison{Sides: []Rounds{
		{Ours: effort(100, time.Second, 100*time.Millisecond), Base: effort(400, 2*time.Second, 100*time.Millisecond)}, // 50 %, 25 %
		{Ours: effort(100, time.Second, 50*time.Millisecond), Base: effort(400, time.Second, 100*time.Millisecond)},    // 25 %, 50 %
		{Ours: effort(400, time.Second, 400*time.Millisecond), Base: effort(400, time.Second, 40*time.Millisecond)},    // 100 %, 10 %
		{Ours: effort(100, 4*time.Second, time.Second), Base: effort(1, 10*time.Millisecond, 1*time.Millisecond)},      // 25 %, 10 %
		{Ours: effort(100, time.Second, 100*time.Millisecond), Base: effort(1000, time.Second, 1000*time.Millisecond)}, // 10 %, 100 %
	}}
	if diff := cmp.Diff(Spread{0.1, 0.25, 1}, c.Throughput()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Spread{0.1, 0.25, 1}, c.CPU()); diff != "" {
		t.Error(diff)
	}
	if got := spreadOf([]float64{3, 1}); got != (Spread{1, 1, 3}) {
		t.Errorf("of two: %v", got)
	}
	if got := spreadOf(nil); got != (Spread{}) {
		t.Errorf("of none: %v", got)
	}
}

// Ensure that both sides are measured in turns, the first time to no effect.
func TestCompareInTurns(t *testing.T) {
	if _, err := meter.ReadMachine(); errors.Is(err, meter.ErrUnsupported) {
		t.Skip(err)
	}
	var did []string
	one := func(name string, done int) side {
		return side{
			scope:  scope{roots: []int{os.Getpid()}},
			before: func(context.Context) error { did = append(did, "before "+name); return nil },
			run: func(context.Context) (int, error) {
				did = append(did, name)
				if name == "broken" && len(did) > 4 {
					return 0, errors.New("broken")
				}
				return done, nil
			},
		}
	}
	b := &bench{Config: Config{Rounds: 2, Notice: func(string) {}}}
	c, err := b.compare(t.Context(), Comparison{}, one("a", 3), one("b", 4))
	if err != nil || len(c.Sides) != 2 || c.Sides[1].Ours.Done != 3 || c.Sides[0].Base.Done != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	want := "before a,a,before b,b,before b,b,before a,a,before a,a,before b,b"
	if diff := cmp.Diff(want, strings.Join(did, ",")); diff != "" {
		t.Error(diff)
	}
	did = nil
	if _, err := b.compare(t.Context(), Comparison{}, one("broken", 1), one("b", 1)); err == nil || err.Error() != "broken" {
		t.Errorf("%v", err)
	}
	if _, err := b.compare(t.Context(), Comparison{}, one("a", 1), one("b", 0)); !errors.Is(err, errNothing) {
		t.Errorf("%v", err)
	}
}

// Ensure that the CPU time of a child counts in its scope, and what nobody of ours
// took as that of others.
func TestScope(t *testing.T) {
	if _, err := meter.ReadMachine(); errors.Is(err, meter.ErrUnsupported) {
		t.Skip(err)
	}
	child := exec.Command("sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	defer child.Wait() // says that it was killed
	defer child.Process.Kill()
	work := func() (int, error) {
		all := scope{roots: []int{child.Process.Pid}}
		first, err := all.cpu()
		for deadline := time.Now().Add(30 * time.Second); err == nil && time.Now().Before(deadline); {
			var now time.Duration
			if now, err = all.cpu(); now-first >= 100*time.Millisecond {
				return 1, nil
			}
		}
		return 0, errors.Join(err, errors.New("no CPU time was seen"))
	}
	for name, s := range map[string]scope{
		"the child": {roots: []int{child.Process.Pid}}, "this process with it": {roots: []int{os.Getpid()}},
	} {
		e, err := s.measure(work)
		if err != nil || e.CPU < 90*time.Millisecond || e.Took <= 0 || e.Busy <= 0 || e.Others > e.Busy {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	alone, err := scope{roots: []int{os.Getpid()}, alone: true}.cpu()
	with, err2 := scope{roots: []int{os.Getpid()}}.cpu()
	if err := errors.Join(err, err2); err != nil || with-alone < 100*time.Millisecond {
		t.Errorf("alone %v, with the child %v, %v", alone, with, err)
	}
}

// Ensure that an overload which refuses nobody proves nothing of refusals.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		refused int
		p99     time.Duration
		met     bool
		got     string
	}{
		"soon":   {7, refusalTarget - 1, true, "250ms"},
		"late":   {7, refusalTarget, false, "250ms"},
		"nobody": {0, 0, false, "nobody was refused; accepted with p99 2s"},
	} {
		r := &load.Result{Refused: c.refused, Refusal: load.Latency{P99: c.p99}, Latency: load.Latency{P99: 2 * time.Second}}
		if check := refusals(r); check.Met != c.met || check.Got != c.got {
			t.Errorf("%s: %+v", name, check)
		}
	}
}

// Ensure that a spike is held to the simulation: of 80 accepted a second 70 wait, and
// then 50 a second end.
func TestForetold(t *testing.T) {
	for _, c := range []struct {
		waited int
		took   time.Duration
		met    string // of what waits, and of the time
	}{
		{700, 14 * time.Second, "true true"}, {600, 12 * time.Second, "true true"}, {850, 14 * time.Second, "false true"}, {700, 20 * time.Second, "true false"},
	} {
		checks := foretold(capacity{accept: 100, complete: 50}, 80, 10*time.Second, c.waited, c.took)
		if met := fmt.Sprint(checks[0].Met, " ", checks[1].Met); met != c.met {
			t.Errorf("%d wait, %v: %+v", c.waited, c.took, checks)
		}
	}
}

func TestSecondsUntilNormal(t *testing.T) {
	quick, slow := load.Latency{P99: time.Millisecond}, load.Latency{P99: latencyTarget}
	for want, points := range map[int][]load.Point{
		0: {{Second: 0, Latency: quick}, {Second: 1, Latency: quick}},
		1: {{Second: 0, Latency: slow}, {Second: 1, Latency: quick}},
		2: {{Second: 0, Latency: quick}, {Second: 1, Refused: 1}, {Second: 2}},
		3: {{Second: 0}, {Second: 1}, {Second: 2, Failed: 1}},
	} {
		if got := secondsUntilNormal(&load.Result{Points: points}); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

func TestSteady(t *testing.T) {
	const mb = 1 << 20
	points := func(rss ...int64) (all []load.Point) {
		for n, r := range rss {
			all = append(all, load.Point{Second: n, Accepted: 1000, State: load.State{Processes: []meter.Process{{PID: 1, RSS: 1}, {PID: 7, RSS: r}}}})
		}
		return all
	}
	for name, c := range map[string]struct {
		points         []load.Point
		pid            int
		perTransaction int64
		want           bool
	}{
		"steady, with garbage":         {points(10*mb, 10*mb, 90*mb, 50*mb, 90*mb, 70*mb, 50*mb, 90*mb), 7, 0, true},
		"grows":                        {points(10*mb, 10*mb, 50*mb, 52*mb, 54*mb, 56*mb, 59*mb, 60*mb), 7, 0, false},
		"grows with what is kept":      {points(10*mb, 10*mb, 50*mb, 52*mb, 54*mb, 56*mb, 59*mb, 60*mb), 7, 1 << 10, true},
		"grows by more than is kept":   {points(10*mb, 10*mb, 50*mb, 60*mb, 70*mb, 80*mb, 90*mb, 90*mb), 7, 1 << 10, false},
		"grows by less than a tenth":   {points(0, 0, 500*mb, 500*mb, 500*mb, 500*mb, 549*mb, 549*mb), 7, 0, true},
		"ends before it is measured":   {append(points(10*mb, 10*mb, 50*mb, 50*mb, 50*mb, 50*mb, 50*mb), load.Point{Second: 7}), 7, 0, true},
		"is another process at last":   {points(1, 1, 1, 1, 1, 1, 1, 1), 8, 0, false},
		"not long enough to be judged": {points(1, 1, 1), 7, 0, false},
	} {
		if got := steady("handler", c.points, c.pid, c.perTransaction); got.Met != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMarkdown(t *testing.T) {
	outcomes := []*Outcome{
		{Scenario: "ingest", Comparisons: []Comparison{{Item: "accepted", Ours: "host", Base: "proxy", Scope: "host ÷ proxy", Sides: []Rounds{
			{Ours: effort(100, time.Second, 100*time.Millisecond), Base: effort(200, time.Second, 100*time.Millisecond)},
		}}}},
		{Scenario: "tail", Comparisons: []Comparison{{Item: "completed", Ours: "workflow", Base: "loop", Scope: "all", Sides: []Rounds{
			{Ours: Effort{1, time.Second, time.Second, 0.4, 0}, Base: Effort{2, time.Second, time.Second, 1, 0.3}},
		}}}},
		{
			Scenario: "backlog", Memory: []Memory{{"drained", 7, 90 * time.Second, Resident{100 << 20, 1<<30 + 1}, Resident{50 << 20, 60 << 20}}},
			Checks: memoryChecks([]Memory{{Runtime: Resident{Peak: 1<<30 + 1<<20}, Handler: Resident{Peak: 1}}, {Runtime: Resident{Peak: 1}, Handler: Resident{Peak: 256 << 20}}}),
		},
		{
			Scenario: "spike", Loads: []*load.Report{{Target: "spike", Shape: "10/s for 1s", Result: &load.Result{Offered: 10, Took: time.Second}}},
			Checks: []Check{{What: "refused", Want: "0", Got: "0", Met: true}, {What: "p99", Want: "< 500ms", Got: "600ms"}, {What: "lost of 7", Want: "0", Got: "1", Lost: true}},
		},
	}
	var b strings.Builder
	if err := WriteMarkdown(&b, outcomes); err != nil {
		t.Fatal(err)
	}
	want := `
| scenario | ratio | min | median | max | compares |
|---|---|---|---|---|---|
| ingest | accepted a second, host ÷ proxy | 50.0 % | 50.0 % | 50.0 % | throughput, all cores busy on both sides |
| ingest | CPU for one accepted, proxy ÷ host | 50.0 % | 50.0 % | 50.0 % | CPU: host ÷ proxy |
| tail | completed a second, workflow ÷ loop | 50.0 % | 50.0 % | 50.0 % | throughput, but only 40 % of the cores were busy on one side; up to 30 % with the work of others: not to be trusted |
| tail | CPU for one completed, loop ÷ workflow | 50.0 % | 50.0 % | 50.0 % | CPU: all |

| scenario | side | a second | CPU ms each | cores busy | with others |
|---|---|---|---|---|---|
| ingest | host | 100 (100 to 100) | 1.000 (1.000 to 1.000) | 100 % (100 % to 100 %) | 0 % (0 % to 0 %) |
| ingest | proxy | 200 (200 to 200) | 0.500 (0.500 to 0.500) | 100 % (100 % to 100 %) | 0 % (0 % to 0 %) |
| tail | workflow | 1 (1 to 1) | 1000.000 (1000.000 to 1000.000) | 40 % (40 % to 40 %) | 0 % (0 % to 0 %) |
| tail | loop | 2 (2 to 2) | 500.000 (500.000 to 500.000) | 100 % (100 % to 100 %) | 30 % (30 % to 30 %) |

| scenario | stage | transactions | s | runtime MB | at most | handler MB | at most |
|---|---|---|---|---|---|---|---|
| backlog | drained | 7 | 90 | 100 | 1024 | 50 | 60 |

| scenario | check | target | measured | |
|---|---|---|---|---|
| backlog | most memory of the runtime | <= 1024 MB | 1025 MB | missed |
| backlog | most memory of the handler | <= 256 MB | 256 MB | met |
| spike | refused | 0 | 0 | met |
| spike | p99 | < 500ms | 600ms | missed |
| spike | lost of 7 | 0 | 1 | **broken** |
`
	tables, loads, _ := strings.Cut(b.String(), "\nspike:\n")
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(loads, "10 requests in 1.0 s to spike (10/s for 1s)") {
		t.Errorf("loads: %s", loads)
	}
}

// Ensure that what was accepted and is not at its end is found, and that nobody is
// asked about anything else.
func TestOpenTransactions(t *testing.T) {
	states := map[string]string{"a": "Completed", "b": "Running", "c": "Rejected", "d": "Stuck", "e": "Completed"}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state, ok := states[strings.TrimPrefix(r.URL.Path, "/api/things/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"state":%q}`, state)
	}))
	defer app.Close()
	s := &stream{client: load.NewClient(app.URL+"/api/things", clients, nil, nil)}
	defer s.client.Close()
	if open, err := s.open(t.Context(), slices.Sorted(maps.Keys(states))); open != 2 || err != nil {
		t.Errorf("%d are open, %v; want 2", open, err)
	}
	if _, err := s.open(t.Context(), []string{"a", "never"}); err == nil || !strings.Contains(err.Error(), "never: status 404") {
		t.Errorf("%v", err)
	}
}
