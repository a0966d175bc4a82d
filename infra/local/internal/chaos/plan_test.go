package chaos

import (
	gocmp "cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// planned is the plan of a run with all faults, of which the backend whose effects
// the world makes final goes away after 10 s.
func planned(t *testing.T, seed uint64, requests int, duration time.Duration) []sending {
	c := breaking(requests, duration)
	c.Seed, c.Faults.Seed, c.Faults.Rates[fault.BackendUndoRefused] = seed, seed, 0.05
	return planOf(t, c.mixture(start, []fault.Burst{
		{Point: fault.BackendAway, Scope: "Cars", From: start.Add(2 * time.Second)},
		{Point: fault.BackendAway, Scope: pivotal, From: start.Add(10 * time.Second)},
	}))
}

func planOf(t *testing.T, m mixture) []sending {
	t.Helper()
	all, err := m.plan()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// told is what can be compared of a plan.
func told(all []sending) []string {
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %v %v %t %v %+v", s.Kind.Name, s.Name, s.ID, s.Key, s.Body, s.At, s.Wait, s.Twice, s.Leaves, s.Acts))
	}
	return lines
}

func TestPlanFollowsFromTheSeed(t *testing.T) {
	first := planned(t, 7, 300, time.Minute)
	if diff := cmp.Diff(told(first), told(planned(t, 7, 300, time.Minute))); diff != "" {
		t.Errorf("the same plan differs:\n%s", diff)
	}
	if cmp.Equal(told(first), told(planned(t, 8, 300, time.Minute))) {
		t.Error("another seed gives the same plan")
	}
}

// Ensure that a plan has all kinds, all ways of sending and all stories, in the
// order of their moments, and that nothing can't be told apart.
func TestPlanHasEverything(t *testing.T) {
	const requests = 400
	const duration = 30 * time.Second
	all := planned(t, 1, requests, duration)
	kinds := map[string]int{}
	ways := map[string]int{}
	stories := map[string]int{}
	names, keys := map[string]bool{}, map[string]bool{}
	spike := map[time.Duration]int{}
	for i, s := range all {
		kinds[s.Kind.Name]++
		if s.Twice {
			kinds["twice"]++
		}
		if s.Leaves > 0 {
			kinds["left"]++
			if s.ID != "" || s.Key != "" || len(s.Acts) > 0 || s.malformed() || s.As != "" {
				t.Errorf("the client of %s leaves, and has more to do", s.Name)
			}
		}
		names[s.Name] = true
		spike[s.At]++
		if s.At < 0 || s.At >= duration || i > 0 && s.At < all[i-1].At {
			t.Errorf("%s is sent at %v, after one at %v", s.Name, s.At, all[i-1].At)
		}
		switch {
		case s.ID != "" && s.Key != "":
			t.Errorf("%s has an id and a key", s.Name)
		case s.ID != "":
			ways["id"]++
		case s.Key != "":
			ways["key"]++
		default:
			ways["neither"]++
			if s.Twice {
				t.Errorf("%s is sent twice and has nothing to be recognized by", s.Name)
			}
		}
		var body drawn
		if err := json.Unmarshal(s.Body, &body); err != nil || body.Name != gocmp.Or(s.As, s.Name) || !body.Final.Equal(start.Add(s.At+s.Wait)) && !s.malformed() {
			t.Errorf("%s asks for %s", s.Name, s.Body)
		}
		for _, a := range s.Acts {
			stories[string(a.Kind)+" "+string(a.When)]++
			if a.Once != (a.Key == "") || a.Key != "" && keys[a.Key] {
				t.Errorf("%s: the key %q is taken", s.Name, a.Key)
			}
			keys[a.Key] = true
			if a.When == beside && s.ID == "" {
				t.Errorf("%s is changed before its id is known", s.Name)
			}
			if a.Kind == workflow.OperationReschedule && a.Change == nil {
				t.Errorf("%s is changed to nothing", s.Name)
			}
		}
	}
	byName := slices.SortedFunc(slices.Values(all), func(a, b sending) int { return strings.Compare(a.Name, b.Name) })
	if same := slices.IndexFunc(byName, func(s sending) bool { return s.Kind.Name != byName[0].Kind.Name }); same > requests/20 {
		t.Errorf("the first %d requests are all of the kind %s", same, byName[0].Kind.Name)
	}
	total := 0
	for _, kind := range samples.Kinds {
		if kinds[kind.Name] == 0 {
			t.Errorf("none is %s", kind.Name)
		}
		total += kinds[kind.Name]
	}
	if total-kinds["malformed"] != requests || len(names) != len(all) || kinds["twice"] < requests/20 || kinds["left"] < requests/40 {
		t.Errorf("%d requests, %d malformed, %d sent twice, %d left, %d names for %d", total, kinds["malformed"], kinds["twice"], kinds["left"], len(names), len(all))
	}
	for _, way := range []string{"id", "key", "neither"} {
		if ways[way] < requests/10 {
			t.Errorf("%d are sent with %s", ways[way], way)
		}
	}
	for _, kind := range []workflow.OperationKind{workflow.OperationCancel, workflow.OperationReschedule} {
		for _, when := range []moment{beside, accepted, completed} {
			if stories[string(kind)+" "+string(when)] == 0 {
				t.Errorf("no %s %s", kind, when)
			}
		}
	}
	counts := make([]int, 0, len(spike))
	for _, n := range spike {
		counts = append(counts, n)
	}
	if slices.Max(counts) < requests*spikePercent/200 {
		t.Errorf("at most %d requests come at one moment", slices.Max(counts))
	}
}

// Ensure that the stories that need their moment are there: crowds beyond what a
// transaction takes, what the world makes final while its backend is away, undos that are
// refused, and cancels that their clients can't repeat.
func TestPlanStages(t *testing.T) {
	const requests = 1500
	c := breaking(requests, 45*time.Second)
	c.Faults.Rates[fault.BackendUndoRefused] = 0.05
	crowds, meanwhile, refused, once := 0, 0, 0, 0
	for _, s := range planned(t, 1, requests, 45*time.Second) {
		moves, strangers := 0, 0
		for _, a := range s.Acts {
			switch {
			case a.Stranger != "":
				strangers++
			case a.Kind == workflow.OperationReschedule:
				moves++
			case a.Once:
				once++
			}
		}
		switch {
		case moves > workflow.MaxOperations:
			crowds++
			if strangers == 0 {
				t.Error("nobody errs in the id")
			}
		case len(s.Acts) == 1 && s.Kind.Name == "plain":
			picked := s.At + s.Wait
			asked := s.At + s.Acts[0].After
			if s.At < 10*time.Second && asked >= 10*time.Second && asked < picked && picked < 10*time.Second+shortOutage {
				meanwhile++
			}
		case s.Kind.Name == "heavy" && fault.Chosen(c.Faults, fault.BackendUndoRefused, s.ID):
			refused++
		}
	}
	if crowds != requests/crowdEvery || meanwhile < requests/pickupEvery/2 || refused < requests/refusedEvery || once < 30 {
		t.Errorf("%d crowds, %d pickups meanwhile, %d refused, %d cancels without a key", crowds, meanwhile, refused, once)
	}
	first, encore := c.mixture(start, nil), c.encore(start)
	names := map[string]bool{}
	for _, s := range slices.Concat(planOf(t, first), planOf(t, encore)) {
		if names[s.Name] {
			t.Fatalf("%s is sent twice", s.Name)
		}
		names[s.Name] = true
		if strings.Contains(s.Name, "encore") != (s.At >= c.Duration) || s.At > c.Duration+c.encoreTime() {
			t.Errorf("%s at %v", s.Name, s.At)
		}
	}
	c.Encore = 0
	if none := planOf(t, c.encore(start)); len(none) > 0 {
		t.Errorf("%d requests in a run without an encore", len(none))
	}
}

// Ensure that rivals come in pairs, at one moment and for the same, that either may
// lose, and that there are none in a business that knows none.
func TestRivals(t *testing.T) {
	c := breaking(1500, 45*time.Second)
	all := planOf(t, c.mixture(start, nil))
	byName := map[string]sending{}
	for _, s := range all {
		byName[s.Name] = s
	}
	pairs := 0
	for _, s := range all {
		if s.As == "" {
			continue
		}
		pairs++
		other := byName[s.As]
		if string(s.Body) != string(other.Body) || s.At != other.At || s.Name == other.Name || len(s.Acts)+len(other.Acts) > 0 {
			t.Errorf("%s at %v asks for %s, and %s at %v for %s", s.Name, s.At, s.Body, other.Name, other.At, other.Body)
		}
		for _, one := range []sending{s, other} {
			if got := ends(one, false, false); !slices.Equal(got, []workflow.State{workflow.Completed, workflow.Rejected}) {
				t.Errorf("%s may end %v", one.Name, got)
			}
		}
	}
	if want := c.Requests / rivalEvery; pairs != want {
		t.Errorf("%d pairs, want %d", pairs, want)
	}
	state := func(id string) workflow.State {
		return map[string]workflow.State{"won": "Completed", "lost": "Rejected", "": ""}[id]
	}
	outcomes := []outcome{{sending: sending{Or: samples.Rivals}, transactionID: "won"}, {sending: sending{Or: samples.Rivals}, transactionID: "lost"}, {transactionID: "lost"}}
	if n := lost(outcomes, state); n != 1 {
		t.Errorf("%d have lost", n)
	}
	c.Trial.Rivals = nil
	if slices.ContainsFunc(planOf(t, c.mixture(start, nil)), func(s sending) bool { return s.As != "" || s.Or != nil }) {
		t.Error("there are rivals where there can't be any")
	}
}

// Ensure that nothing more is planned for a run that does not go on.
func TestPlanWithoutAnEncore(t *testing.T) {
	for _, encore := range []time.Duration{0, time.Minute} {
		r := &run{c: breaking(100, time.Minute), begun: time.Now()}
		r.c.Encore = encore
		all, err := r.sendings()
		more := slices.ContainsFunc(all, func(s sending) bool { return strings.Contains(s.Name, "encore") })
		if err != nil || more != (encore > 0) {
			t.Errorf("an encore of %v: %d sendings, %v", encore, len(all), err)
		}
	}
}

// Ensure that small plans have every kind, too.
func TestPlanThatIsSmall(t *testing.T) {
	all := planned(t, 3, MinRequests, time.Second)
	kinds := map[string]bool{}
	for _, s := range all {
		kinds[s.Kind.Name] = true
	}
	if len(kinds) != len(samples.Kinds) {
		t.Errorf("kinds %v", kinds)
	}
}

// Ensure that a business whose requests can't be changed, and without a step that the
// world makes final, has a plan all the same.
func TestPlanOfASmallerBusiness(t *testing.T) {
	c := breaking(1500, 45*time.Second)
	c.Business.Workflow.Steps, c.Trial.Change = nil, nil
	bursts := c.planBursts(start)
	away := slices.DeleteFunc(slices.Clone(bursts), func(b fault.Burst) bool { return b.Point != fault.BackendAway })
	if len(away) != 1 { // that of any backend
		t.Errorf("a burst for what is not there: %+v", away)
	}
	cancels := 0
	for _, s := range planOf(t, c.mixture(start, bursts)) {
		for _, a := range s.Acts {
			if a.Kind == workflow.OperationReschedule {
				t.Fatalf("%s is changed", s.Name)
			}
			cancels++
		}
	}
	if cancels < 100 {
		t.Errorf("%d cancels", cancels)
	}
}
