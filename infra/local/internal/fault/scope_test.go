package fault

import (
	"strings"
	"testing"
	"time"
)

// Ensure that a rate for one function leaves the others alone, and that the higher
// one of two holds.
func TestRateOfOneFunction(t *testing.T) {
	in := New()
	set := func(rates map[Point]float64) {
		t.Helper()
		if err := in.Set(Plan{Seed: 1, Rates: rates}); err != nil {
			t.Fatal(err)
		}
	}
	set(map[Point]float64{BackendError.Of("Packages"): 1, BackendSlow.Of("Packages"): 1})
	if !in.HitIn(BackendError, "Packages") || in.HitIn(BackendError, "Accounts") || in.HitIn(BackendReset, "Packages") || in.Hit(BackendError) {
		t.Errorf("not Packages alone: %v", in.Counts())
	}
	if in.WaitIn(BackendSlow, "Packages") == 0 || in.WaitIn(BackendSlow, "Accounts") != 0 {
		t.Error("the wrong function waits")
	}
	if c := in.Counts(); c[BackendError] != (Count{1, 1}) || c[BackendSlow] != (Count{1, 1}) {
		t.Errorf("counts: %v", c)
	}
	set(map[Point]float64{BackendError: 1, BackendError.Of("Packages"): 0.001})
	if !in.HitIn(BackendError, "Packages") || !in.HitIn(BackendError, "Accounts") {
		t.Error("the lower rate holds")
	}
}

func TestPlanOfFunctions(t *testing.T) {
	for name, tc := range map[string]struct {
		plan Plan
		want string // part of the error of Validate or Fits
	}{
		"one that is there":  {Plan{Rates: map[Point]float64{"backend.away@Packages": 1}}, ""},
		"one that isn't":     {Plan{Rates: map[Point]float64{"backend.away@Parcels": 1}}, `backend.away: there is no backend "Parcels", but Accounts, Packages`},
		"a burst of nothing": {Plan{Bursts: []Burst{{BackendAway, "Parcels", time.Unix(1, 0), 1, 1}}}, `"Parcels"`},
		"an instance's":      {Plan{Bursts: []Burst{{HandlerFreeze, "instance 2", time.Unix(1, 0), 1, 1}}}, ""},
		"of the database":    {Plan{Rates: map[Point]float64{"cosmos.away@Packages": 1}}, "cosmos.away@Packages: name a function"},
		"no name":            {Plan{Rates: map[Point]float64{"backend.away@": 1}}, "backend.away@: name a function"},
	} {
		err := tc.plan.Validate()
		if err == nil {
			err = tc.plan.Fits([]string{"Accounts", "Packages"})
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
