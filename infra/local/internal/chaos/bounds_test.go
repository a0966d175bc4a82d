package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// breaking is a run of so many requests in so long, with all faults.
func breaking(requests int, duration time.Duration) Config {
	return Config{
		Requests: requests, Duration: duration, Seed: 1, Instances: 2, Scheduler: settings.SchedulerStream, TreeKills: 1, Faults: fault.All(1),
		CrashPoints: true, Encore: UsualEncore, Business: things, Trial: samples,
	}
}

func bound(t *testing.T, all []Bound, name string) Bound {
	t.Helper()
	i := slices.IndexFunc(all, func(b Bound) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("there is no bound %q", name)
	}
	return all[i]
}

// Ensure that bounds grow with the run, and that only what the chosen faults
// make impossible has none.
func TestBoundsGrowWithTheRun(t *testing.T) {
	small, usual, large := breaking(100, 4*time.Second).bounds(40), breaking(1500, 45*time.Second).bounds(40),
		breaking(10000, 3*time.Minute+30*time.Second).bounds(40)
	for i, b := range usual {
		if small[i].Wanted > b.Wanted || large[i].Wanted < b.Wanted {
			t.Errorf("%s: %d, %d, %d", b.Name, small[i].Wanted, b.Wanted, large[i].Wanted)
		}
		if b.Wanted == 0 {
			t.Errorf("the usual run has no bound for %s", b.Name)
		}
	}
	queued := breaking(10000, 3*time.Minute+30*time.Second)
	queued.Scheduler = settings.SchedulerQueue
	sharded := breaking(10000, 3*time.Minute+30*time.Second)
	sharded.Shards = 3
	all := slices.Concat(large, queued.bounds(40), sharded.bounds(40)) // some come with one way to schedule alone, or with shards
	for n := 1; n <= 3; n++ {
		if b := bound(t, all, fmt.Sprint("transactions in shard ", n)); b.Wanted != 300 || measure([]Bound{b}, seen{shards: []int{7, 8, 9}})[0].Seen != 6+n {
			t.Errorf("shard %d: %+v", n, b)
		}
	}
	if slices.ContainsFunc(large, func(b Bound) bool { return b.shard > 0 || b.sign == Moves || b.point == fault.CosmosMap }) {
		t.Error("one shard has bounds for several")
	}
	for _, s := range signBounds {
		if b := bound(t, all, string(s.sign)); b.Wanted < 1 {
			t.Errorf("the large run wants %d of %s", b.Wanted, s.sign)
		}
	}
	if b := bound(t, small, "accepted"); b.Wanted != 70 {
		t.Errorf("the small run wants %d accepted", b.Wanted)
	}
	queue := breaking(1500, 45*time.Second)
	queue.Scheduler = settings.SchedulerQueue
	if slices.ContainsFunc(queue.bounds(0), func(b Bound) bool { return b.sign == Recognized }) {
		t.Error("a queue, which drops what comes again, has a bound for it")
	}
	batch := breaking(1500, 45*time.Second)
	batch.Scheduler = settings.SchedulerBatch
	if slices.ContainsFunc(batch.bounds(0), func(b Bound) bool {
		return b.sign == Rescued || b.sign == Recreated || b.point == fault.EventHubsRecreated
	}) {
		t.Error("batch, whose hub is hardly ever empty, has a bound for its recreation")
	}
	if slices.ContainsFunc(usual, func(b Bound) bool { return b.sign == Recreated || b.point == fault.EventHubsRecreated }) {
		t.Error("stream, whose hub is hardly ever empty, has a bound for its recreation")
	}
	none := breaking(1500, 45*time.Second)
	none.Faults = fault.Plan{}
	for _, b := range none.bounds(0) {
		if b.point != "" || b.sign != "" && b.sign != Outside && b.sign != Lost {
			t.Errorf("without faults there is a bound for %s", b.Name)
		}
	}
	if b := bound(t, none.bounds(0), "accepted"); b.Wanted != 1050 {
		t.Errorf("without faults %d must be accepted", b.Wanted)
	}
}

// Ensure that each bound is held against its own count, and that a report with
// one below is no proof, and names it.
func TestABoundThatIsNotMetFails(t *testing.T) {
	c := breaking(1500, 45*time.Second)
	enough := seen{accepted: 1500, completed: 900, kills: 1, points: 30, signs: map[Sign]int{}, faults: map[fault.Point]fault.Count{}}
	for _, info := range fault.Points {
		enough.faults[info.Point] = fault.Count{Asked: 1000, Hit: 1000}
	}
	for _, s := range signBounds {
		enough.signs[s.sign] = 100
	}
	report := &Report{Settled: true, Bounds: measure(c.bounds(40), enough)}
	if !report.OK() {
		t.Fatalf("below: %+v", report.Below())
	}
	for name, take := range map[string]func(*seen){
		"accepted":          func(s *seen) { s.accepted = 0 },
		"completed":         func(s *seen) { s.completed = 0 },
		"kills of the tree": func(s *seen) { s.kills = 0 },
		"crash points":      func(s *seen) { s.points = 0 },
		string(GapsFilled): func(s *seen) {
			s.signs = map[Sign]int{Unacknowledged: 9, LeasesLost: 9, LeasesTaken: 90, DeadLetters: 9, Rescued: 9, LateRefused: 9, UnknownUndone: 9,
				Repeated: 9, Recreated: 9, Recognized: 90, Outside: 90, Pickups: 9, Lost: 90}
		},
		"amqp.drop": func(s *seen) { s.faults[fault.AMQPDrop] = fault.Count{Asked: 1000} },
	} {
		s := enough
		take(&s)
		report.Bounds = measure(c.bounds(40), s)
		if below := report.Below(); report.OK() || !report.Kept() || len(below) != 1 || below[0].Name != name {
			t.Errorf("without %s: below are %+v", name, below)
		}
		var text strings.Builder
		writeBounds(&text, report.Bounds)
		if !strings.Contains(text.String(), "BELOW") {
			t.Errorf("the table does not show it:\n%s", text.String())
		}
		enough.faults[fault.AMQPDrop] = fault.Count{Asked: 1000, Hit: 1000}
	}
}

// Ensure that a rule without anything to check is no proof, nor one that nobody could
// break, where each can have something.
func TestARuleThatChecksNothingProvesNothing(t *testing.T) {
	rules := []string{"flights", "sizes"}
	if b := breaking(1500, 45*time.Second).unchecked(rules); len(b) != 2 || b[0].Met() || !strings.Contains(b[0].Name, "flights") {
		t.Errorf("bounds %+v", b)
	}
	some := breaking(1500, 45*time.Second)
	some.Faults = fault.Plan{Rates: map[fault.Point]float64{fault.CosmosSlow: 0.1}}
	for _, c := range []Config{breaking(100, 45*time.Second), some} {
		if b := c.unchecked(rules); len(b) != 0 {
			t.Errorf("bounds %+v", b)
		}
	}
	if b := breaking(300, time.Second).unbroken(rules); len(b) != 2 || b[1].Met() || !strings.Contains(b[1].Name, "made wrong for the rule sizes") {
		t.Errorf("bounds %+v", b)
	}
	if b := breaking(100, 45*time.Second).unbroken(rules); len(b) != 0 {
		t.Errorf("bounds %+v", b)
	}
}

// Ensure that the faults of services that aren't ours are wanted of a business with
// such services, and of no other.
func TestServicesHaveBounds(t *testing.T) {
	without, with := breaking(1500, 45*time.Second), breaking(1500, 45*time.Second)
	with.Trial.Services = []trial.Service{{Name: "till"}}
	for _, p := range []fault.Point{fault.ServiceLate, fault.ServiceKill} {
		if b := bound(t, with.bounds(40), string(p)); b.Wanted != hitsWanted {
			t.Errorf("%s: %d are wanted", p, b.Wanted)
		}
		if slices.ContainsFunc(without.bounds(40), func(b Bound) bool { return b.point == p }) {
			t.Errorf("%s is wanted where there is no service", p)
		}
		delete(with.Faults.Rates, p)
		if b := with.unchecked([]string{"money"}); len(b) != 0 {
			t.Errorf("without %s, still %+v", p, b)
		}
		with.Faults = fault.All(1)
	}
	if b := with.unchecked([]string{"money"}); len(b) != 1 {
		t.Errorf("with all faults: %+v", b)
	}
}

// Ensure that a service that takes nothing, and so breaks nothing, is not proved
// to keep its promises.
func TestAServiceThatAcceptsNothingProvesNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusServiceUnavailable, "", "nothing was accepted")
	}))
	defer server.Close()
	dir := t.TempDir()
	book, err := createLedger(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer book.close()
	tally := newTally()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 8, Seen: tally.exchange})
	defer client.Close()
	subject, err := invariant.NewSubject(chosen.Business(), chosentrial.Trial())
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Subject: subject, Business: things, Trial: samples, Requests: MinRequests, Duration: time.Second, Encore: UsualEncore}
	r := &run{c: c, tally: tally, faults: newFaults(), signs: newSigns(filepath.Join(dir, "log"), things.Resource), bounds: c.bounds(0),
		load: &load{client: client, ledger: book, tally: tally}, news: &receiver{}}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := r.load.run(ctx, ctx, shortly(t, c.Requests, 100*time.Millisecond)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	report := r.newReport()
	report.Settled = true
	r.fill(report, invariant.Snapshot{})
	if tally.clients().Accepted != 0 || !report.Kept() {
		t.Fatalf("the stub is not as it should be: %+v", report)
	}
	below := report.Below()
	if report.OK() || len(below) != 2 || below[0].Name != "accepted" || below[0].Wanted != 14 || below[0].Seen != 0 || below[1].Name != "completed" {
		t.Errorf("OK %v, below %+v", report.OK(), below)
	}
	if report.Invariants.States[workflow.Completed] != 0 {
		t.Error("something is Completed")
	}
}

// Ensure a business in which nothing can be changed, and nothing is final in the world,
// is not asked for what only such a business shows.
func TestBoundsOfABusinessWithoutChanges(t *testing.T) {
	c := breaking(1500, 45*time.Second)
	has := func(name Sign) bool {
		return slices.ContainsFunc(c.bounds(40), func(b Bound) bool { return b.Name == string(name) })
	}
	rules := []string{"room", "owned"}
	if !has(Outside) || !has(Pickups) || len(c.unchecked(rules)) != 2 || len(c.unbroken(rules)) != 2 {
		t.Error("a business with both is not asked for them")
	}
	c.Trial.Change, c.Business.Workflow.Steps = nil, nil
	if has(Outside) || has(Pickups) || len(c.unchecked(rules)) != 1 || len(c.unbroken(rules)) != 1 {
		t.Error("a business without both is asked for them")
	}
}
