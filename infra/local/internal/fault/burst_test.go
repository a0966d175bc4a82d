package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// at is an injector whose clock stands where the test puts it, under a plan of
// bursts that begin 10 s after its start.
func at(t *testing.T, bursts ...Burst) (*Injector, func(time.Duration)) {
	t.Helper()
	start := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	now := start
	in := New()
	in.now = func() time.Time { return now }
	for i := range bursts {
		bursts[i].From = start.Add(10 * time.Second)
	}
	if err := in.Set(Plan{Seed: 1, Rates: map[Point]float64{CosmosSlow: 0}, Bursts: bursts}); err != nil {
		t.Fatal(err)
	}
	return in, func(since time.Duration) { now = start.Add(since) }
}

func TestABurstHitsForItsTime(t *testing.T) {
	in, set := at(t, Burst{Point: EventHubsAway, Seconds: 5, Rate: 1})
	if in.Idle() {
		t.Error("idle, though a burst is to come")
	}
	for since, want := range map[time.Duration]bool{
		0: false, 9999 * time.Millisecond: false, 10 * time.Second: true, 14999 * time.Millisecond: true, 15 * time.Second: false,
	} {
		set(since)
		if in.Hit(EventHubsAway) != want || in.Hit(CosmosAway) {
			t.Errorf("%v after the start: want %v, and no other point", since, want)
		}
	}
	if c := in.Counts()[EventHubsAway]; c != (Count{Asked: 2, Hit: 2}) {
		t.Errorf("counts %+v: only the burst's opportunities count", c)
	}
}

func TestABurstHitsItsScopeAlone(t *testing.T) {
	in, set := at(t, Burst{Point: BackendAway, Scope: "Drones", Seconds: 5, Rate: 1}, Burst{Point: HandlerFreeze, Scope: "instance 2", Seconds: 7, Rate: 1})
	set(12 * time.Second)
	for scope, want := range map[string]bool{"Drones": true, "Packages": false, "": false} {
		if _, hit := in.NextIn(BackendAway, scope); hit != want {
			t.Errorf("%q: hit %v", scope, hit)
		}
	}
	if until, now := in.Lasts(HandlerFreeze, "instance 2"); !now || until.Sub(in.now()) != 5*time.Second {
		t.Errorf("the act lasts until %v, %v", until, now)
	}
	if _, now := in.Lasts(HandlerFreeze, "instance 1"); now {
		t.Error("another instance is frozen")
	}
	if _, now := (*Injector)(nil).Lasts(HandlerFreeze, ""); now {
		t.Error("a nil injector freezes")
	}
}

// Ensure that a burst by keys is of the same ones from its beginning to its end,
// and of others the next time.
func TestABurstOfKeys(t *testing.T) {
	in, set := at(t, Burst{Point: CosmosPartition, Seconds: 60, Rate: 0.3})
	set(11 * time.Second)
	chosen := func() (keys string, n int) {
		for i := range 1000 {
			if key := fmt.Sprint("key-", i, ";"); in.HitKey(CosmosPartition, key) {
				keys, n = keys+key, n+1
			}
		}
		return keys, n
	}
	first, n := chosen()
	within(t, "keys", n, 0.3, 1000)
	set(60 * time.Second)
	if again, _ := chosen(); again != first {
		t.Error("later in the burst there are other keys")
	}
	later := in.Plan().Bursts
	later[0].From = later[0].From.Add(time.Second)
	if err := in.Set(Plan{Seed: 1, Bursts: later}); err != nil {
		t.Fatal(err)
	}
	if other, _ := chosen(); other == first {
		t.Error("another burst has the same keys")
	}
}

func TestBurstsAreRefused(t *testing.T) {
	good := Burst{Point: CosmosAway, From: time.Now(), Seconds: 1, Rate: 1}
	if err := (Plan{Bursts: []Burst{good}}).Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Burst){
		"no fault":     func(b *Burst) { b.Point = "odd" },
		"for good":     func(b *Burst) { b.Point = BackendUndoRefused },
		"done at once": func(b *Burst) { b.Point = HandlerKill },
		"use a time":   func(b *Burst) { b.From = time.Time{} },
		"for 0 s":      func(b *Burst) { b.Seconds = 0 },
		"for 3601 s":   func(b *Burst) { b.Seconds = 3601 },
		"rate 0":       func(b *Burst) { b.Rate = 0 },
		"rate 1.1":     func(b *Burst) { b.Rate = 1.1 },
	} {
		b := good
		change(&b)
		if err := (Plan{Bursts: []Burst{b}}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", b, err, want)
		}
	}
	if err := (Plan{Bursts: make([]Burst, maxBursts+1)}).Validate(); err == nil || !strings.Contains(err.Error(), "201 bursts") {
		t.Errorf("too many: %v", err)
	}
	if err := (Plan{Rates: map[Point]float64{HandlerFreeze: 1}}).Validate(); err == nil {
		t.Error("an act that lasts has a rate")
	}
}
