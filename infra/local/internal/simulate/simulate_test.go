package simulate_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/simulate"
)

// through is a system of two stages: what is accepted, and what is completed.
func through(shards int, accept, complete simulate.Lane) simulate.System {
	return simulate.System{Shards: shards, Stages: []simulate.Stage{{accept}, {complete}}}
}

func fixed(name string, each float64, units int) simulate.Lane {
	return simulate.Lane{Name: name, Each: each, Most: units}
}

func TestRun(t *testing.T) {
	shared := fixed("complete", 50, 1)
	shared.Shared = true
	scaled := simulate.Lane{Name: "accept", Each: 10, Least: 1, Most: 20, Starts: 5 * time.Second, Keeps: 10 * time.Second}
	for _, c := range []struct {
		name   string
		system simulate.System
		rate   string
		// What comes out: all together, the most that waits, and how long it takes.
		accepted, waits float64
		lasts           time.Duration
		narrow          string // at the end of the shape
	}{
		{"below all", through(1, fixed("accept", 100, 1), fixed("complete", 100, 1)), "100:10s", 1000, 0, 10 * time.Second, ""},
		{"a backlog that is worked off", through(1, fixed("accept", 100, 1), fixed("complete", 50, 1)), "100:10s", 1000, 500, 20 * time.Second, "complete"},
		{"refused", through(1, fixed("accept", 60, 1), fixed("complete", 100, 1)), "100:10s", 600, 0, 10 * time.Second, "accept"},
		{"two units", through(1, fixed("accept", 100, 1), fixed("complete", 50, 2)), "100:10s", 1000, 0, 10 * time.Second, ""},
		{"two shards", through(2, fixed("accept", 60, 1), fixed("complete", 50, 1)), "100:10s", 1000, 0, 10 * time.Second, ""},
		{"two shards of which a lane is one", through(2, fixed("accept", 60, 1), shared), "100:10s", 1000, 500, 20 * time.Second, "complete"},
		{"the narrowest lane", simulate.System{Shards: 1, Stages: []simulate.Stage{{fixed("a", 90, 1), fixed("b", 70, 1), fixed("c", 80, 1)}, {fixed("d", 100, 1)}}},
			"100:10s", 700, 0, 10 * time.Second, "b"},
		// 5 s with one instance until the other nine work.
		{"instances that start", through(1, scaled, fixed("complete", 100, 1)), "100:10s", 5*10 + 5*100, 0, 10 * time.Second, ""},
		{"a ramp", through(1, fixed("accept", 100, 1), fixed("complete", 100, 1)), "0-100:10s", 500, 0, 10 * time.Second, ""},
		// Of each second 80 are accepted, which leaves a fifth for completing.
		{"one machine", simulate.Machine(100, 50), "80:10s", 800, 700, 24 * time.Second, "complete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shape, err := load.ParseShape(c.rate)
			if err != nil {
				t.Fatal(err)
			}
			points := simulate.Run(c.system, shape, time.Second, time.Hour)
			var accepted, completed, waits float64
			for _, p := range points {
				accepted, completed, waits = accepted+p.Accepted, completed+p.Completed, max(waits, p.Waits())
			}
			if math.Abs(accepted-c.accepted) > 0.5 || math.Abs(completed-accepted) > 1 || math.Abs(waits-c.waits) > 0.5 {
				t.Errorf("accepted %.1f, completed %.1f, %.1f wait; want %.1f, all, %.1f", accepted, completed, waits, c.accepted, c.waits)
			}
			if lasts := points[len(points)-1].At + time.Second; lasts != c.lasts {
				t.Errorf("lasts %v, want %v", lasts, c.lasts)
			}
			if narrow := strings.Join(points[int(shape.Duration()/time.Second)-1].Narrow, ","); narrow != c.narrow {
				t.Errorf("held back by %q, want %q", narrow, c.narrow)
			}
		})
	}
}

// Ensure that what is no longer needed is paid for a while.
func TestUnitsStay(t *testing.T) {
	lane := simulate.Lane{Name: "accept", Each: 10, Least: 1, Most: 20, Keeps: 10 * time.Second, USD: 3600}
	shape := load.Shape{{From: 100, To: 100, For: 5 * time.Second}, {From: 10, To: 10, For: 20 * time.Second}}
	var usd float64
	for _, p := range simulate.Run(through(1, lane, fixed("complete", 100, 1)), shape, time.Second, time.Hour) {
		usd += p.USD
	}
	if want := 15*10.0 + 10*1.0; math.Abs(usd-want) > 1e-6 {
		t.Errorf("%.2f USD, want %.2f", usd, want)
	}
}

// Ensure that the size large carries what docs/capacity.md says, and no more.
func TestLarge(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		shards int
		narrow string
	}{
		{18_000, 1, ""}, {19_000, 1, "queue"}, {19_000, 2, ""}, {23_000, 2, "fleet"}, {54_000, 1, "hub,queue"}, {410_000, 22, "http,fleet"},
	} {
		shape := load.Shape{{From: c.rate, To: c.rate, For: time.Hour}}
		points := simulate.Run(simulate.Large(c.shards, time.Minute), shape, 10*time.Second, 0)
		if narrow := strings.Join(points[len(points)-1].Narrow, ","); narrow != c.narrow {
			t.Errorf("%.0f/s, %d shards: held back by %q, want %q", c.rate, c.shards, narrow, c.narrow)
		}
	}
}

func TestReport(t *testing.T) {
	shape := load.Shape{{From: 100, To: 100, For: 10 * time.Second}, {From: 10, To: 10, For: 10 * time.Second}}
	points := simulate.Run(through(1, fixed("accept", 80, 1), fixed("complete", 50, 1)), shape, time.Second, time.Hour)
	var text, svg bytes.Buffer
	if err := simulate.WriteText(&text, shape, points); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"accept, complete", "0s    100        80          20.0 %   50           300", "10s   10         10          0.0 %", "nothing waits after"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := simulate.Plot(points, time.Second).WriteSVG(&svg); err != nil || strings.Count(svg.String(), "<path") != 4 {
		t.Errorf("%v: %s", err, &svg)
	}
}
