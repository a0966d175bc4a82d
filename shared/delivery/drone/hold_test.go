package drone

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Ensure a drone's holds never overlap, and that the fields for the query never
// hide a drone that is free, whatever was held and let go before.
func TestHolds(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		now := time.UnixMilli(1_000_000)
		var d Drone
		for n := range 100 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
			from := now.UnixMilli() + int64(r.IntN(300))
			w := Window{from, from + 1 + int64(r.IntN(50))}
			id := fmt.Sprint("t-", r.IntN(40))
			fits := true
			others := map[string]bool{}
			for _, h := range d.Holds {
				if h.TransactionID != id && h.Until > now.UnixMilli() {
					others[fmt.Sprint(h)] = true
					fits = fits && (h.Until <= w.From || w.Until <= h.From)
				}
			}
			fits = fits && len(others)+2 <= maxHolds
			if got := d.FreeFor(id, w, now); got != fits {
				t.Fatalf("seed %d, %d: free for %+v: %v; %+v", seed, n, w, got, d)
			}
			if _, ours := d.HoldOf(id); fits && !ours && !mayFit(d, w) {
				t.Fatalf("seed %d, %d: %+v is hidden from who asks for %+v at %d", seed, n, d, w, now.UnixMilli())
			}
			switch {
			case r.IntN(4) == 0:
				d.hold(id, now)
			case fits:
				d.hold(id, now, w)
			}
			for i, h := range d.Holds {
				if i > 0 && h.From < d.Holds[i-1].Until {
					t.Fatalf("seed %d, %d: %+v at %d", seed, n, d, now.UnixMilli())
				}
			}
		}
	}
}

// Ensure that a drone is not lent for a window that began while another had it,
// also if that is over by the time the drone is read.
func TestHoldThatEndsBetweenPlanAndRead(t *testing.T) {
	planned := time.UnixMilli(1_000_000)
	var d Drone
	d.hold("first", planned.Add(-time.Second), Window{planned.Add(-time.Second).UnixMilli(), planned.Add(16 * time.Millisecond).UnixMilli()})
	w := Window{planned.UnixMilli(), planned.Add(time.Second).UnixMilli()}
	if d.FreeFor("second", w, planned.Add(20*time.Millisecond)) {
		t.Errorf("free for %+v beside %+v", w, d.Holds)
	}
}

func TestADroneTakesABoundedNumberOfHolds(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	var d Drone
	n := int64(0)
	for ; ; n++ {
		w := Window{2_000_000 + n, 2_000_001 + n}
		if !d.FreeFor(fmt.Sprint(n), w, now) {
			break
		}
		d.hold(fmt.Sprint(n), now, w)
	}
	if n != maxHolds-1 || len(d.Holds) > maxHolds {
		t.Errorf("%d flights, %d holds", n, len(d.Holds))
	}
	if !d.FreeFor("later", Window{3_000_000, 3_000_001}, time.UnixMilli(2_000_001)) {
		t.Error("what is over takes up the room")
	}
}

// Ensure the time before a departure is kept free, as far as it is not past.
func TestWindow(t *testing.T) {
	cfg := Defaults()
	now := time.UnixMilli(1_000_000_000)
	for name, tt := range map[string]struct{ depart, from time.Duration }{
		"at once":         {0, 0},
		"in a minute":     {time.Minute, 0},
		"in an hour":      {time.Hour, time.Hour - cfg.Approach},
		"departed before": {-time.Minute, -time.Minute},
	} {
		f := Flight{DepartAt: now.Add(tt.depart), ArriveAt: now.Add(2 * time.Hour)}
		if w := cfg.window(f, now); w.From != now.Add(tt.from).UnixMilli() || w.Until != f.ArriveAt.UnixMilli() {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Ensure that a drone is not lent twice by those whose clocks differ: what is over
// by the one that is ahead stays, for the one that is behind.
func TestHoldsOfClocksApart(t *testing.T) {
	behind := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	ahead := behind.Add(4 * time.Second)
	window := func(from time.Time) Window {
		return Window{from.UnixMilli(), from.Add(2 * time.Second).UnixMilli()}
	}
	var d Drone
	d.hold("first", behind, window(behind))
	d.hold("second", ahead, window(ahead))
	if d.FreeFor("third", window(behind.Add(time.Second)), behind.Add(time.Second)) {
		t.Errorf("free for a third in the middle of the first: %+v", d.Holds)
	}
	// The same for the window of its own flight that one sets anew whose clock is ahead,
	// such as one that puts back what stands.
	d = Drone{}
	d.hold("first", ahead, window(behind))
	if d.FreeFor("second", window(behind.Add(time.Second)), behind.Add(time.Second)) {
		t.Errorf("free for a second in the middle of the first: %+v", d.Holds)
	}
}

// mayFit is what Store.Free selects by: true for every drone that is free for w, and
// for few others.
func mayFit(d Drone, w Window) bool { return d.BusyUntil <= w.From || d.Gap >= w.Until-w.From }
