package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// planned is the plan of a run with all faults, of which the drones' backend goes
// away after 10 s.
func planned(seed uint64, deliveries int, duration time.Duration) []sending {
	c := breaking(deliveries, duration)
	c.Seed, c.Faults.Seed, c.Faults.Rates[fault.BackendUndoRefused] = seed, seed, 0.05
	return c.mixture(start, []fault.Burst{
		{Point: fault.BackendAway, Scope: "Accounts", From: start.Add(2 * time.Second)},
		{Point: fault.BackendAway, Scope: dronesBackend, From: start.Add(10 * time.Second)},
	}).plan()
}

func TestPlanFollowsFromTheSeed(t *testing.T) {
	first := planned(7, 300, time.Minute)
	if diff := cmp.Diff(first, planned(7, 300, time.Minute)); diff != "" {
		t.Errorf("the same plan differs:\n%s", diff)
	}
	if cmp.Equal(first, planned(8, 300, time.Minute)) {
		t.Error("another seed gives the same plan")
	}
}

// Ensure that a plan has all kinds, all ways of sending and all stories, in the
// order of their moments, and that nothing can't be told apart.
func TestPlanHasEverything(t *testing.T) {
	const deliveries = 400
	const duration = 30 * time.Second
	all := planned(1, deliveries, duration)
	kinds := map[workload.Kind]int{}
	ways := map[string]int{}
	stories := map[string]int{}
	names, keys := map[string]bool{}, map[string]bool{}
	spike := map[time.Duration]int{}
	for i, s := range all {
		kinds[s.Kind]++
		names[s.name()] = true
		spike[s.At]++
		if s.At < 0 || s.At >= duration || i > 0 && s.At < all[i-1].At {
			t.Errorf("%s is sent at %v, after one at %v", s.name(), s.At, all[i-1].At)
		}
		switch {
		case s.ID != "" && s.Key != "":
			t.Errorf("%s has an id and a key", s.name())
		case s.ID != "":
			ways["id"]++
		case s.Key != "":
			ways["key"]++
		default:
			ways["neither"]++
			if s.Twice {
				t.Errorf("%s is sent twice and has nothing to be recognized by", s.name())
			}
		}
		if s.Kind == workload.Duplicate && !s.Twice {
			t.Errorf("%s is a duplicate that is sent once", s.name())
		}
		for _, a := range s.Acts {
			stories[string(a.Kind)+" "+string(a.When)]++
			if a.Once != (a.Key == "") || a.Key != "" && keys[a.Key] {
				t.Errorf("%s: the key %q is taken", s.name(), a.Key)
			}
			keys[a.Key] = true
			if a.When == beside && s.ID == "" {
				t.Errorf("%s is changed before its id is known", s.name())
			}
			if a.Kind == workflow.OperationReschedule && a.Change == (workload.Change{}) {
				t.Errorf("%s is changed to nothing", s.name())
			}
		}
	}
	byName := slices.SortedFunc(slices.Values(all), func(a, b sending) int { return strings.Compare(a.name(), b.name()) })
	if same := slices.IndexFunc(byName, func(s sending) bool { return s.Kind != byName[0].Kind }); same > deliveries/20 {
		t.Errorf("the first %d requests are all of the kind %s", same, byName[0].Kind)
	}
	total := 0
	for _, kind := range []workload.Kind{workload.Plain, workload.Far, workload.Suspended, workload.Unknown, workload.TooHeavy, workload.Duplicate} {
		if kinds[kind] == 0 {
			t.Errorf("none is %s", kind)
		}
		total += kinds[kind]
	}
	if total != deliveries || kinds[workload.Malformed] == 0 || len(names) != len(all) {
		t.Errorf("%d deliveries, %d malformed, %d names for %d", total, kinds[workload.Malformed], len(names), len(all))
	}
	for _, way := range []string{"id", "key", "neither"} {
		if ways[way] < deliveries/10 {
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
	if slices.Max(counts) < deliveries*spikePercent/200 {
		t.Errorf("at most %d requests come at one moment", slices.Max(counts))
	}
}

// Ensure that the stories that need their moment are there: crowds beyond what a
// transaction takes, pickups while the drones' backend is away, undos that are
// refused, and cancels that their clients can't repeat.
func TestPlanStages(t *testing.T) {
	const deliveries = 1500
	c := breaking(deliveries, 45*time.Second)
	c.Faults.Rates[fault.BackendUndoRefused] = 0.05
	crowds, meanwhile, refused, once := 0, 0, 0, 0
	for _, s := range planned(1, deliveries, 45*time.Second) {
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
		case len(s.Acts) == 1 && s.Kind == workload.Plain:
			ahead := s.Request.PickupTime.Sub(start.Add(s.At))
			picked := s.At + time.Duration(float64(ahead)*flightScale)
			asked := s.At + s.Acts[0].After
			if s.At < 10*time.Second && asked >= 10*time.Second && asked < picked && picked < 10*time.Second+shortOutage {
				meanwhile++
			}
		case s.Kind == workload.TooHeavy && fault.Chosen(c.Faults, fault.BackendUndoRefused, s.ID):
			refused++
		}
	}
	if crowds != deliveries/crowdEvery || meanwhile < deliveries/pickupEvery/2 || refused < deliveries/refusedEvery || once < 30 {
		t.Errorf("%d crowds, %d pickups meanwhile, %d refused, %d cancels without a key", crowds, meanwhile, refused, once)
	}
	first, encore := c.mixture(start, nil), c.encore(start)
	names := map[string]bool{}
	for _, s := range slices.Concat(first.plan(), encore.plan()) {
		if names[s.name()] {
			t.Fatalf("%s is sent twice", s.name())
		}
		names[s.name()] = true
		if strings.Contains(s.name(), "encore") != (s.At >= c.Duration) || s.At > c.Duration+c.encoreTime() {
			t.Errorf("%s at %v", s.name(), s.At)
		}
	}
}

// Ensure that small plans have every kind, too.
func TestPlanThatIsSmall(t *testing.T) {
	all := planned(3, MinDeliveries, time.Second)
	kinds := map[workload.Kind]bool{}
	for _, s := range all {
		kinds[s.Kind] = true
	}
	if len(kinds) != len(shares)+2 {
		t.Errorf("kinds %v", kinds)
	}
}
