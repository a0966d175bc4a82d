package drone_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

func statusOf(err error) int {
	if err == nil {
		return 200
	}
	return problem.From(err).Status
}

func TestRepeatsGetTheSameDrone(t *testing.T) {
	h := newHarness(t, 10, 2).ready()
	s := h.service()
	first, change, err := put(s, "t", 1, ask())
	if err != nil || change != record.Created {
		t.Fatal(change, err)
	}
	writes := h.assignments.Writes() + h.drones.Memory.Writes()
	for range 3 {
		h.pass(time.Second)
		again, change, err := put(h.service(), "t", 1, ask())
		if err != nil || change != "" || !cmp.Equal(again, first) {
			t.Errorf("got %+v, %q, %v; want %+v", again, change, err, first)
		}
	}
	if got := h.assignments.Writes() + h.drones.Memory.Writes(); got != writes {
		t.Errorf("%d writes for repeats", got-writes)
	}
	h.check()
}

func TestPutAndDeleteInEveryOrder(t *testing.T) {
	// p and q are PUTs of revisions 1 and 2, d is a DELETE.
	tests := []struct {
		calls    string
		statuses []int
		holds    int
	}{
		{"p", []int{200}, 1},
		{"pp", []int{200, 200}, 1},
		{"pd", []int{200, 200}, 0},
		{"pdd", []int{200, 200, 200}, 0},
		{"pdp", []int{200, 200, 410}, 0},
		{"dp", []int{200, 410}, 0},
		{"dpd", []int{200, 410, 200}, 0},
		{"ddq", []int{200, 200, 410}, 0},
		{"pq", []int{200, 200}, 1},
		{"pqp", []int{200, 200, 409}, 1},
		{"pqd", []int{200, 200, 200}, 0},
		{"pqdp", []int{200, 200, 200, 410}, 0},
		{"qdq", []int{200, 200, 410}, 0},
		{"qp", []int{200, 409}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.calls, func(t *testing.T) {
			h := newHarness(t, 3, 2)
			for i, call := range tt.calls {
				var err error
				switch call {
				case 'p':
					_, _, err = put(h.service(), "t", 1, ask())
				case 'q':
					a := ask()
					a.Expedited = true
					_, _, err = put(h.service(), "t", 2, a)
				case 'd':
					err = del(h.service(), "t")
				}
				wantStatus(t, err, tt.statuses[i])
				h.check()
			}
			if held := h.held("t"); len(held) != tt.holds {
				t.Errorf("holds %v", held)
			}
		})
	}
}

func TestRules(t *testing.T) {
	h := newHarness(t, 2, 1)
	s := h.service()
	_, _, err := put(s, "t", 1, ask())
	wantStatus(t, err, 200)
	other := ask()
	other.Expedited = true
	_, _, err = put(s, "t", 1, other)
	wantStatus(t, err, 409) // the same revision with other content
	_, _, err = s.Put(t.Context(), "t", by("u", 1), ask())
	wantStatus(t, err, 409) // another transaction
	wantStatus(t, s.Delete(t.Context(), "t", by("u", 1)), 200)
	if held := h.held("t"); len(held) != 1 {
		t.Errorf("a DELETE by another has left %v", held)
	}
	heavy := ask()
	heavy.PackageDetail.WeightKg = 20.1
	_, _, err = put(s, "heavy", 1, heavy)
	wantStatus(t, err, 422)
	if _, all := h.all(); len(all) != 1 {
		t.Errorf("a refused PUT has left something: %v", all)
	}
	heavy.PackageDetail.WeightKg = 20
	_, _, err = put(s, "heavy", 1, heavy)
	wantStatus(t, err, 200)
	h.check()
}

func TestOneGetsTheLastDrone(t *testing.T) {
	for _, processes := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			h := newHarness(t, 1, 1).ready()
			var services []*drone.Service
			for range processes {
				services = append(services, h.service())
			}
			errs := make([]error, 16)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { _, _, errs[i] = put(services[i%processes], fmt.Sprintf("t%d", i), 1, ask()) })
			}
			wg.Wait()
			got := 0
			for _, err := range errs {
				if err == nil {
					got++
				} else {
					wantStatus(t, err, 429)
				}
			}
			if got != 1 {
				t.Errorf("%d got the drone", got)
			}
			h.check()
		})
	}
}

func TestEveryDroneIsFound(t *testing.T) {
	h := newHarness(t, 24, 3).ready()
	services := []*drone.Service{h.service(), h.service()}
	errs := make([]error, 24)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = insist(t, func() error {
				_, _, err := put(services[i%2], fmt.Sprintf("t%d", i), 1, ask())
				return err
			})
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("t%d: %v", i, err)
		}
	}
	h.check()
	_, _, err := put(h.service(), "one-more", 1, ask())
	wantStatus(t, err, 429)
}

func TestNoDroneFree(t *testing.T) {
	h := newHarness(t, 2, 1)
	s := h.service()
	var flights []drone.Assignment
	for _, id := range []string{"a", "b"} {
		flight, _, err := put(s, id, 1, ask())
		wantStatus(t, err, 200)
		flights = append(flights, flight)
		h.pass(time.Second)
	}
	_, _, err := put(s, "c", 1, ask())
	var p *problem.Problem
	if !errors.As(err, &p) || p.Type != drone.NoDroneFree.ID || p.RetryAfter != 30*time.Second {
		t.Fatalf("got %v", err)
	}
	if _, all := h.all(); len(all) != 2 {
		t.Error("a refused PUT has left something")
	}
	h.pass(flights[0].ArriveAt.Sub(h.clock()) - 10*time.Second)
	if _, _, err = put(s, "c", 1, ask()); !errors.As(err, &p) || p.RetryAfter != 10*time.Second {
		t.Errorf("10 s before: %v, %v", err, p.RetryAfter)
	}
	h.pass(9*time.Second + 500*time.Millisecond)
	if _, _, err = put(s, "c", 1, ask()); !errors.As(err, &p) || p.RetryAfter != time.Second {
		t.Errorf("half a second before: %v, %v", err, p.RetryAfter)
	}
	h.pass(time.Second)
	got, _, err := put(s, "c", 1, ask())
	if err != nil || got.DroneID != flights[0].DroneID {
		t.Errorf("after the arrival: %+v, %v", got, err)
	}
	// The first flight is over, and its drone another's: to undo it comes too late.
	wantStatus(t, del(s, "a"), 409)
	if held := h.held("c"); len(held) != 1 {
		t.Errorf("c holds %v", held)
	}
	// An undo frees at once.
	wantStatus(t, del(s, "c"), 200)
	_, _, err = put(s, "d", 1, ask())
	wantStatus(t, err, 200)
}

func TestADroneThatAnotherProcessFreesIsSeenSoon(t *testing.T) {
	h := newHarness(t, 1, 1)
	one, two := h.service(), h.service()
	_, _, err := put(one, "a", 1, ask())
	wantStatus(t, err, 200)
	_, _, err = put(two, "b", 1, ask())
	wantStatus(t, err, 429)
	wantStatus(t, del(one, "a"), 200)
	_, _, err = put(two, "b", 1, ask())
	wantStatus(t, err, 429) // what the process remembers
	h.pass(time.Second)
	_, _, err = put(two, "b", 1, ask())
	wantStatus(t, err, 200)
}

func TestAChangeKeepsTheDrone(t *testing.T) {
	h := newHarness(t, 5, 1)
	s := h.service()
	before, _, err := put(s, "t", 1, ask())
	wantStatus(t, err, 200)
	h.pass(time.Minute)
	farther := ask()
	farther.DropOff.Latitude = 48.5
	after, change, err := put(s, "t", 2, farther)
	if err != nil || change != record.Changed || after.DroneID != before.DroneID || !after.ArriveAt.After(before.ArriveAt) {
		t.Errorf("got %+v, %q, %v; before %+v", after, change, err, before)
	}
	h.check()
	d, err := s.Drone(t.Context(), after.DroneID)
	if hold, _ := d.HoldOf("t"); err != nil || len(d.Holds) != 1 || hold.Until != after.ArriveAt.UnixMilli() {
		t.Errorf("got %+v, %v", d, err)
	}
}

// Ensure no package gets a second drone: what was picked up can't be changed
// any more, but what stands can be put back, which changes nothing.
func TestNoChangeAfterThePickup(t *testing.T) {
	farther := ask()
	farther.DropOff.Latitude = 48.5
	for name, at := range map[string]func(drone.Assignment) time.Time{
		"at the pickup":     func(a drone.Assignment) time.Time { return a.PickupAt },
		"after the arrival": func(a drone.Assignment) time.Time { return a.ArriveAt.Add(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, 2, 1)
			s := h.service()
			before, _, err := put(s, "t", 1, ask())
			wantStatus(t, err, 200)
			h.pass(at(before).Sub(h.clock()))
			held := h.held("t")
			_, _, err = put(s, "t", 2, farther)
			wantStatus(t, err, 409)
			after, change, err := put(s, "t", 3, ask())
			if err != nil || change != record.Changed || !cmp.Equal(after, before) {
				t.Errorf("got %+v, %q, %v; want %+v", after, change, err, before)
			}
			if now := h.held("t"); len(now) != len(held) {
				t.Errorf("holds %v, before %v", now, held)
			}
			_, _, err = put(s, "t", 2, farther)
			wantStatus(t, err, 409) // late, of a lower revision
		})
	}
}

// Ensure to put back what stands leaves the flight as it is.
func TestAPutBackKeepsTheFlight(t *testing.T) {
	h := newHarness(t, 2, 1)
	s := h.service()
	before, _, err := put(s, "t", 1, ask())
	wantStatus(t, err, 200)
	h.pass(time.Minute)
	after, change, err := put(s, "t", 3, ask())
	if err != nil || change != record.Changed || !cmp.Equal(after, before) {
		t.Errorf("got %+v, %q, %v; want %+v", after, change, err, before)
	}
	h.check()
}

// Ensure a change that breaks off before it is confirmed does not free the drone
// before the flight that stands is over.
func TestABrokenChangeKeepsTheDroneBusy(t *testing.T) {
	later := ask()
	later.PickupTime = start.Add(2 * time.Hour)
	for n := 1; n <= 4; n++ {
		h := newHarness(t, 1, 1)
		_, _, err := put(h.service(), "t", 1, later)
		wantStatus(t, err, 200)
		s := h.tapped(&tap{write: func(i int, do func() error) error {
			if i >= n {
				return transient("crashed")
			}
			return do()
		}})
		_, _, err = put(s, "t", 2, ask())
		wantStatus(t, err, 503)
		stands, err := h.service().Get(t.Context(), "t")
		if err != nil || (stands.Revision == 2) != (n == 4) { // the fourth only frees the drone sooner
			t.Fatalf("write %d: %+v, %v", n, stands, err)
		}
		h.pass(stands.Content.ArriveAt.Add(-time.Second).Sub(h.clock()))
		h.check()
		_, _, err = put(h.service(), "other", 1, ask())
		wantStatus(t, err, 429)
	}
}

// Ensure what is put back after the pickup leaves nothing of a change that broke
// off before it.
func TestAPutBackEndsABrokenChange(t *testing.T) {
	later := ask()
	later.PickupTime = start.Add(2 * time.Hour)
	for n := 1; n <= 3; n++ {
		h := newHarness(t, 1, 1)
		before, _, err := put(h.service(), "t", 1, ask())
		wantStatus(t, err, 200)
		s := h.tapped(&tap{write: func(i int, do func() error) error {
			if i >= n {
				return transient("crashed")
			}
			return do()
		}})
		_, _, err = put(s, "t", 2, later)
		wantStatus(t, err, 503)
		h.pass(before.PickupAt.Sub(h.clock()))
		_, _, err = put(h.service(), "t", 2, later)
		wantStatus(t, err, 409)
		after, _, err := put(h.service(), "t", 3, ask())
		wantStatus(t, err, 200)
		stands, err := h.service().Get(t.Context(), "t")
		if err != nil || stands.Content.Candidate != nil || !cmp.Equal(after, before) {
			t.Errorf("write %d: %+v, %v; flight %+v, want %+v", n, stands, err, after, before)
		}
		h.check()
		h.pass(before.ArriveAt.Sub(h.clock()))
		_, _, err = put(h.service(), "other", 1, ask())
		wantStatus(t, err, 200)
	}
}

// Ensure a drone whose flight was moved forward is free when it has arrived.
func TestASoonerFlightFreesTheDroneSooner(t *testing.T) {
	later := ask()
	later.PickupTime = start.Add(2 * time.Hour)
	h := newHarness(t, 1, 1)
	_, _, err := put(h.service(), "t", 1, later)
	wantStatus(t, err, 200)
	after, _, err := put(h.service(), "t", 2, ask())
	wantStatus(t, err, 200)
	h.pass(after.ArriveAt.Sub(h.clock()))
	_, _, err = put(h.service(), "other", 1, ask())
	wantStatus(t, err, 200)
}
