package fault

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func injector(t testing.TB, p Plan) *Injector {
	t.Helper()
	in := New()
	set := p
	if err := in.Set(set); err != nil {
		t.Fatal(err)
	}
	return in
}

func only(seed uint64, p Point, rate float64) Plan {
	return Plan{Seed: seed, Rates: map[Point]float64{p: rate}}
}

func TestPointsAreDescribed(t *testing.T) {
	seen := map[Point]bool{}
	for _, info := range Points {
		if seen[info.Point] || info.Meaning == "" || group(info.Point) == string(info.Point) {
			t.Errorf("point %+v", info)
		}
		seen[info.Point] = true
		if got, ok := Lookup(info.Point); !ok || got != info {
			t.Errorf("lookup of %s gives %+v", info.Point, got)
		}
	}
	if err := All(1).Validate(); err != nil {
		t.Error(err)
	}
	if _, ok := Lookup("amqp"); ok {
		t.Error("a group is no point")
	}
}

// decisions are the answers of a point in order.
func decisions(in *Injector, p Point, n int) string {
	var b strings.Builder
	for range n {
		if in.Hit(p) {
			b.WriteByte('x')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func TestDecisionsDependOnTheSeedAlone(t *testing.T) {
	plan := Plan{Seed: 7, Rates: map[Point]float64{AMQPDrop: 0.3, CosmosRace: 0.3}}
	first := injector(t, plan)
	want := decisions(first, AMQPDrop, 200)
	second := injector(t, plan)
	var got strings.Builder
	for range 200 { // other points between change nothing
		second.Hit(CosmosRace)
		second.HitKey(AMQPSlow, "k")
		got.WriteString(decisions(second, AMQPDrop, 1))
	}
	if got.String() != want {
		t.Errorf("same seed, other decisions:\n%s\n%s", want, got.String())
	}
	for name, other := range map[string]string{
		"another seed":     decisions(injector(t, Plan{Seed: 8, Rates: plan.Rates}), AMQPDrop, 200),
		"another point":    decisions(injector(t, plan), CosmosRace, 200),
		"another instance": decisions(instance(t, "i2", plan), AMQPDrop, 200),
	} {
		if other == want {
			t.Errorf("%s decides the same", name)
		}
	}
	if again := decisions(instance(t, "i2", plan), AMQPDrop, 200); again != decisions(instance(t, "i2", plan), AMQPDrop, 200) {
		t.Error("an instance decides differently each time")
	}
}

func instance(t *testing.T, name string, p Plan) *Injector {
	t.Helper()
	in := NewInstance(name)
	if err := in.Set(p); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestRatesAreKept wants each share within five standard deviations, and hits
// that don't come in a pattern: as many pairs as chance gives.
func TestRatesAreKept(t *testing.T) {
	const n = 100_000
	for _, rate := range []float64{0.0005, 0.01, 0.1, 0.5, 0.9} {
		for seed := range uint64(3) {
			in := injector(t, only(seed, CosmosSlow, rate))
			answers := decisions(in, CosmosSlow, n)
			within(t, fmt.Sprintf("rate %v, seed %d", rate, seed), strings.Count(answers, "x"), rate, n)
			pairs := 0
			for i := range n - 1 {
				if answers[i:i+2] == "xx" {
					pairs++
				}
			}
			within(t, fmt.Sprintf("pairs at rate %v, seed %d", rate, seed), pairs, rate*rate, n-1)
			chosen := 0
			for i := range n {
				if in.HitKey(CosmosSlow, fmt.Sprint("transaction-", i)) {
					chosen++
				}
			}
			within(t, fmt.Sprintf("keys at rate %v, seed %d", rate, seed), chosen, rate, n)
		}
	}
}

func within(t *testing.T, what string, got int, share float64, n int) {
	t.Helper()
	mean := share * float64(n)
	if margin := 5*math.Sqrt(mean*(1-share)) + 1; math.Abs(float64(got)-mean) > margin {
		t.Errorf("%s: %d of %d, want %.0f ± %.0f", what, got, n, mean, margin)
	}
}

func TestBoundsOfRates(t *testing.T) {
	in := injector(t, Plan{Rates: map[Point]float64{AMQPDrop: 1, AMQPSlow: 0, HandlerKill: 600}})
	for range 1000 {
		if !in.Hit(AMQPDrop) || in.Hit(AMQPSlow) || in.Hit(AMQPRefuse) || in.Hit(HandlerKill) {
			t.Fatal("1 is always; 0, no rate and acts are never")
		}
	}
	want := map[Point]Count{AMQPDrop: {Asked: 1000, Hit: 1000}}
	if diff := cmp.Diff(want, in.Counts()); diff != "" {
		t.Error(diff)
	}
	if n, hit := in.Next(AMQPDrop); n != 1001 || !hit {
		t.Errorf("next is %d, %v", n, hit)
	}
}

func TestSet(t *testing.T) {
	in := New()
	plan := only(1, AMQPDrop, 1)
	if err := in.Set(plan); err != nil {
		t.Fatal(err)
	}
	plan.Rates[AMQPDrop] = 0 // the caller's map is the caller's
	if !in.Hit(AMQPDrop) {
		t.Error("the plan is not its own")
	}
	in.Plan().Rates[AMQPDrop] = 0
	if in.Plan().Rates[AMQPDrop] != 1 {
		t.Error("the plan can be changed from outside")
	}
	err := in.Set(Plan{Rates: map[Point]float64{AMQPDrop: 1.5, AMQPSlow: math.NaN(), HostStop: -1, "amqp.odd": 0.1}, SlowSeconds: -1})
	for _, part := range []string{"amqp.drop", "amqp.slow", "host.stop", "amqp.odd", "slowSeconds"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in error %v", part, err)
		}
	}
	if !in.Hit(AMQPDrop) {
		t.Error("a refused plan changed something")
	}
	if err := in.Set(Plan{}); err != nil || in.Hit(AMQPDrop) || !in.Idle() {
		t.Errorf("the empty plan hits: %v", err)
	}
	if n, _ := injectorAfter(t, in).Next(AMQPDrop); n != 3 {
		t.Errorf("the count begins anew: %d", n)
	}
}

func injectorAfter(t *testing.T, in *Injector) *Injector {
	t.Helper()
	if err := in.Set(only(1, AMQPDrop, 1)); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestNilHitsNothing(t *testing.T) {
	var in *Injector
	n, hit := in.Next(AMQPDrop)
	in.Done(HandlerKill)
	if n != 0 || hit || in.Hit(AMQPDrop) || in.HitKey(BackendUndoRefused, "t") || in.Wait(AMQPSlow) != 0 ||
		in.Interval(HandlerKill, 1) != 0 || len(in.Counts()) != 0 || len(in.Plan().Rates) != 0 || !in.Idle() {
		t.Error("a nil injector does something")
	}
}

func TestWait(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		most    time.Duration
	}{{0, 2 * time.Second}, {0.5, 500 * time.Millisecond}, {0.0001, time.Millisecond}} {
		plan := only(3, CosmosSlow, 0.5)
		plan.SlowSeconds = c.seconds
		in, again := injector(t, plan), injector(t, plan)
		waits := map[time.Duration]bool{}
		for range 200 {
			d := in.Wait(CosmosSlow)
			if d != again.Wait(CosmosSlow) {
				t.Fatal("the same seed waits differently")
			}
			if d < 0 || d > c.most || d > 0 && d < time.Millisecond {
				t.Fatalf("wait %v, at most %v", d, c.most)
			}
			waits[d] = true
		}
		if !waits[0] || len(waits) < 2 {
			t.Errorf("waits %v", waits)
		}
	}
}

func TestChosenIsHitKey(t *testing.T) {
	plan := only(11, BackendUndoRefused, 0.3)
	in := injector(t, plan)
	if in.HitKey(BackendReset, "t") || Chosen(plan, BackendReset, "t") || Chosen(All(1), HandlerKill, "t") || Chosen(All(1), "odd", "t") {
		t.Error("without a rate nothing is hit")
	}
	chosen := 0
	for i := range 1000 {
		key := fmt.Sprint("t-", i)
		hit := in.HitKey(BackendUndoRefused, key)
		if hit != in.HitKey(BackendUndoRefused, key) || hit != Chosen(plan, BackendUndoRefused, key) {
			t.Fatalf("%s: %v, and not the next time", key, hit)
		}
		if hit != instance(t, "i2", plan).HitKey(BackendUndoRefused, key) {
			t.Fatalf("%s: another instance answers otherwise", key)
		}
		if hit {
			chosen++
		}
	}
	within(t, "keys", chosen, 0.3, 1000)
	if got := in.Counts()[BackendUndoRefused]; got.Asked != 2000 || got.Hit != uint64(2*chosen) {
		t.Errorf("counts %+v", got)
	}
}

func TestInterval(t *testing.T) {
	in := injector(t, Plan{Rates: map[Point]float64{HandlerKill: 12, HostStop: 0}})
	sum := time.Duration(0)
	for n := range uint64(1000) {
		d := in.Interval(HandlerKill, n+1)
		if d < 2500*time.Millisecond || d > 7500*time.Millisecond {
			t.Fatalf("interval %v of an act that is done every 5 s", d)
		}
		sum += d
	}
	if mean := sum / 1000; mean < 4800*time.Millisecond || mean > 5200*time.Millisecond {
		t.Errorf("mean %v", mean)
	}
	if in.Interval(HostStop, 1) != 0 || in.Interval(HostOwnership, 1) != 0 {
		t.Error("an act without a rate is done")
	}
	in.Done(HandlerKill)
	if got := in.Counts()[HandlerKill]; got != (Count{1, 1}) {
		t.Errorf("counts %+v", got)
	}
}

func TestAddAndIdle(t *testing.T) {
	in := injector(t, only(1, AMQPDrop, 1))
	in.Hit(AMQPDrop)
	in.Add(map[Point]Count{AMQPDrop: {Asked: 5, Hit: 2}, HandlerKill: {1, 1}, "odd": {1, 1}})
	in.Add(map[Point]Count{AMQPDrop: {Asked: 1}})
	want := map[Point]Count{AMQPDrop: {Asked: 7, Hit: 3}, HandlerKill: {1, 1}}
	if diff := cmp.Diff(want, in.Counts()); diff != "" {
		t.Error(diff)
	}
	if n, _ := in.Next(AMQPDrop); n != 2 {
		t.Errorf("the others' counts change the decisions: %d", n)
	}
	if in.Idle() || !New().Idle() || !injector(t, only(1, HandlerKill, 1)).Idle() {
		t.Error("idle")
	}
}

func TestConcurrentUse(t *testing.T) {
	in := New()
	var wg sync.WaitGroup
	const each = 2000
	for range 4 {
		wg.Go(func() {
			for range each {
				in.Hit(AMQPDrop)
				in.HitKey(BackendUndoRefused, "t")
				in.Wait(AMQPSlow)
				in.Counts()
			}
		})
	}
	for seed := range uint64(200) {
		if err := in.Set(All(seed)); err != nil {
			t.Error(err)
		}
		in.Plan()
	}
	wg.Wait()
	for p, c := range in.Counts() {
		if c.Hit > c.Asked || c.Asked > 4*each {
			t.Errorf("%s: %+v", p, c)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for name, in := range map[string]*Injector{
		"nil": nil, "no plan": New(), "empty plan": injector(t, Plan{}), "a plan": injector(t, All(1)),
	} {
		if n := testing.AllocsPerRun(1000, func() {
			in.Hit(AMQPDrop)
			in.HitKey(BackendUndoRefused, "transaction")
			in.Hit(ServiceBusBusy)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkHit(b *testing.B) {
	for _, c := range []struct {
		name string
		in   *Injector
	}{{"nil", nil}, {"no plan", New()}, {"empty plan", injector(b, Plan{})}, {"plan", injector(b, All(1))}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.in.Hit(AMQPDrop)
			}
		})
	}
}
