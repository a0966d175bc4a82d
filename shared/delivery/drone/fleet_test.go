package drone_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestTheFleetIsCreatedOnce(t *testing.T) {
	h := newHarness(t, 23, 4)
	h.drones.Memory.Before = (&recordtest.Script{}).Before
	services := []*drone.Service{h.service(), h.service(), h.service()}
	var wg sync.WaitGroup
	for _, s := range services {
		wg.Go(func() { h.ensure(s) })
	}
	wg.Wait()
	drones, _ := h.all()
	zones := map[string]int{}
	for _, d := range drones {
		zones[d.Zone]++
		if len(d.Holds) > 0 {
			t.Errorf("%+v is not free", d)
		}
	}
	if len(drones) != 23 || len(zones) != 4 || zones["zone-000"] != 6 || zones["zone-003"] != 5 {
		t.Errorf("%d drones, %v", len(drones), zones)
	}
	_, _, err := put(h.service(), "t", 1, ask())
	wantStatus(t, err, 200)
	if again, _ := h.all(); len(again) != 23 {
		t.Errorf("%d drones", len(again))
	}
	h.check() // nobody has overwritten the busy one
}

func TestTheFleetIsCompletedAfterAFailure(t *testing.T) {
	h := newHarness(t, 6, 1)
	var script recordtest.Script
	h.drones.Memory.Before = script.Before
	script.Next(recordtest.Create, recordtest.None, recordtest.Fail, recordtest.Lost)
	s := h.service()
	wantStatus(t, insist(t, func() error { _, _, err := put(s, "t", 1, ask()); return err }), 200)
	if drones, _ := h.all(); len(drones) != 6 {
		t.Errorf("%d drones", len(drones))
	}
}

func TestOtherZonesHelpOut(t *testing.T) {
	h := newHarness(t, 4, 4)
	s := h.service()
	seen := map[string]bool{}
	first, _, err := put(s, "t0", 1, ask())
	wantStatus(t, err, 200)
	seen[first.Flight.Zone] = true
	for i := 1; i < 4; i++ {
		flight, _, err := put(s, fmt.Sprintf("t%d", i), 1, ask())
		wantStatus(t, err, 200)
		seen[flight.Flight.Zone] = true
	}
	if len(seen) != 4 {
		t.Errorf("zones %v", seen)
	}
	wantStatus(t, del(s, "t0"), 200)
	wantStatus(t, del(s, "t2"), 200)
	again, _, err := put(s, "t4", 1, ask())
	if err != nil || again.Flight.Zone != first.Flight.Zone {
		t.Errorf("got %+v, %v; the pickup's zone is %s", again, err, first.Flight.Zone)
	}
}

func TestDrones(t *testing.T) {
	h := newHarness(t, 5, 2)
	s := h.service()
	var ids []string
	for continuation, first := "", true; first || continuation != ""; first = false {
		drones, next, err := s.Drones(t.Context(), "zone-001", continuation)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range drones {
			ids = append(ids, d.ID)
		}
		continuation = next
	}
	if fmt.Sprint(ids) != "[zone-001-00000 zone-001-00001]" {
		t.Errorf("got %v", ids)
	}
	if _, _, err := s.Drones(t.Context(), "zone-002", ""); !failure.Is(err, failure.NotFound) {
		t.Errorf("got %v", err)
	}
	for _, id := range []string{"zone-002-00000", "zone-001-00009", "x", "-", ""} {
		if _, err := s.Drone(t.Context(), id); !failure.Is(err, failure.NotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestAZoneDependsOnThePlaceOnly(t *testing.T) {
	h := newHarness(t, 40, 8)
	s := h.service()
	near := ask()
	near.Pickup = value.Location{Latitude: 47.61, Longitude: -122.29} // the same cell
	one, _, err := put(s, "t1", 1, ask())
	wantStatus(t, err, 200)
	two, _, err := put(h.service(), "t2", 1, near)
	wantStatus(t, err, 200)
	if one.Flight.Zone != two.Flight.Zone {
		t.Errorf("%s and %s", one.Flight.Zone, two.Flight.Zone)
	}
}
