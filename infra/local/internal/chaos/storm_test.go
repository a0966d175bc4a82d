package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/engine"
)

func TestKillsFollowFromTheSeed(t *testing.T) {
	const duration = time.Minute
	again := 0
	for seed := range uint64(50) {
		kills := planKills(seed, 3, duration)
		if diff := cmp.Diff(kills, planKills(seed, 3, duration), cmp.AllowUnexported(kill{})); diff != "" {
			t.Fatalf("the same seed gives other kills:\n%s", diff)
		}
		for i, k := range kills {
			if k.at < duration/6 || k.at >= duration*5/6 || i > 0 && k.at < kills[i-1].at {
				t.Errorf("seed %d: kill %d at %v", seed, i, k.at)
			}
			if k.again > 0 {
				again++
			}
		}
		if kills[2].again == 0 {
			t.Errorf("seed %d: none of several kills is repeated while the tree comes back", seed)
		}
	}
	if again == 50*3 || again < 60 {
		t.Errorf("%d of 150 kills are repeated", again)
	}
	if planKills(1, 0, duration) == nil || len(planKills(1, 0, duration)) != 0 {
		t.Error("kills without any")
	}
}

// Ensure that handlers live for what is missing, once enough of them have died.
func TestHandlersAreSpared(t *testing.T) {
	bounds := []Bound{{Name: boundAccepted, Wanted: 100}, {Name: boundCrashes, Wanted: 2}}
	for name, s := range map[string]struct {
		elapsed  time.Duration
		accepted int
		points   int
		encore   bool
		want     bool
	}{
		"too early to tell":          {2 * time.Second, 0, 0, false, false},
		"all goes well":              {20 * time.Second, 90, 2, false, false},
		"nothing is accepted":        {20 * time.Second, 0, 2, false, true},
		"neither dies":               {20 * time.Second, 0, 0, false, false},
		"an encore":                  {50 * time.Second, 100, 2, true, true},
		"an encore for crash points": {50 * time.Second, 100, 1, true, false},
		"before the storm has begun": {0, 0, 0, false, false},
	} {
		c, _ := steering(t, 4)
		for n := range s.points {
			c.hits[c.points[n]] = 1
		}
		r := &run{c: breaking(100, 45*time.Second), bounds: bounds, tally: newTally(), faults: newFaults(), signs: newSigns("", things.Resource), crashes: c, encore: s.encore}
		for range s.accepted {
			r.tally.request(wasAccepted, 0)
		}
		if s.elapsed > 0 {
			r.begun = time.Now().Add(-s.elapsed)
		}
		if got := r.sparing(); got != s.want {
			t.Errorf("%s: spared %v", name, got)
		}
		r.spared = true
		if lags := s.elapsed > 5*time.Second && s.points < 2; r.sparing() == lags {
			t.Errorf("%s: spared at its turn: %v", name, !lags)
		}
	}
}

// Ensure that no version of the app will ever be able to read any poison, and that
// each form comes to each place.
func TestPoisonIsUnreadable(t *testing.T) {
	all := planPoison(3, 1000, time.Minute)
	if len(all) != 10 {
		t.Errorf("%d events for 1000 requests", len(all))
	}
	places := map[string]bool{}
	sums := hashes(all)
	for i, p := range all {
		if _, err := engine.Decode(p.body); !errors.Is(err, engine.ErrUnreadable) {
			t.Errorf("%q: %v", p.body, err)
		}
		if sums[i] != invariant.BodyHash(p.body) || slices.Index(sums, sums[i]) != i {
			t.Errorf("%q can't be told from another", p.body)
		}
		form := slices.IndexFunc(poisonForms, func(form string) bool {
			beginning, _, _ := strings.Cut(form, "%s")
			return strings.HasPrefix(string(p.body), beginning)
		})
		places[fmt.Sprint(p.queue, form)] = true
		if i > 0 && p.at < all[i-1].at {
			t.Errorf("event %d comes before event %d", i, i-1)
		}
	}
	if len(places) != len(poisonPlaces)*len(poisonForms) {
		t.Errorf("it comes to %v", places)
	}
}

// Ensure that poison is put again until that is acknowledged, each at its moment.
func TestPoisonIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var put []string
		err := spread(t.Context(), []poison{{at: time.Second, body: []byte("a")}, {10 * time.Second, "q", []byte("b")}}, func(_ context.Context, p poison) error {
			put = append(put, p.queue+string(p.body)+" "+time.Since(begun).String())
			if len(put) < 3 {
				return errors.New("busy")
			}
			return nil
		})
		want := []string{"a 1s", "a 2s", "a 3s", "qb 10s"}
		if diff := cmp.Diff(want, put); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		full := errors.New("full")
		if err := spread(ctx, []poison{{body: []byte("a")}}, func(context.Context, poison) error { return full }); !errors.Is(err, full) {
			t.Errorf("error %v, want the hub's", err)
		}
	})
}

// Ensure that the faults of all lives are summed up.
func TestFaultsOverSeveralLives(t *testing.T) {
	life := func() (*fault.Injector, string) {
		in := fault.New()
		server := httptest.NewServer(fault.Admin(in))
		t.Cleanup(server.Close)
		return in, server.URL
	}
	f := newFaults()
	for n, hits := range []int{3, 4} {
		in, url := life()
		if err := f.set(t.Context(), url, fault.Plan{Seed: 1, Rates: map[fault.Point]float64{fault.CosmosSlow: 1}}); err != nil {
			t.Fatal(err)
		}
		for range hits {
			in.Hit(fault.CosmosSlow)
		}
		in.Done(fault.HandlerKill)
		for range 2 { // a second look counts nothing twice
			if err := f.look(t.Context(), url); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 { // a tree that is killed twice has no counts the second time
			f.ended()
			f.ended()
		}
	}
	want := []FaultCount{{fault.CosmosSlow, fault.Count{Asked: 7, Hit: 7}}, {fault.HandlerKill, fault.Count{Asked: 2, Hit: 2}}}
	if diff := cmp.Diff(want, f.counts()); diff != "" {
		t.Error(diff)
	}
	_, url := life()
	if err := f.set(t.Context(), url, fault.Plan{Rates: map[fault.Point]float64{"nothing": 1}}); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a plan that is refused: %v", err)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode("no counts")
	}))
	defer broken.Close()
	if err := f.look(t.Context(), broken.URL); err == nil {
		t.Error("an answer without counts is taken")
	}
}
