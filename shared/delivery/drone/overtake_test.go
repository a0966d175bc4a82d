package drone_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// maxSteps is more than any PUT or DELETE here takes.
const maxSteps = 24

// A PUT that breaks off at any operation is brought to its end by a repeat.
func TestPutGoesOnAfterAnyFault(t *testing.T) {
	for _, fault := range []recordtest.Fault{recordtest.Fail, recordtest.Lost} {
		for n := 1; n <= maxSteps; n++ {
			for _, undo := range []bool{false, true} {
				t.Run(fmt.Sprintf("fault %d at operation %d, undo %v", fault, n, undo), func(t *testing.T) {
					h := newHarness(t, 3, 2).ready()
					seen := 0
					before := func(recordtest.Op, string) recordtest.Fault {
						if seen++; seen == n {
							return fault
						}
						return recordtest.None
					}
					h.assignments.Before, h.drones.Memory.Before = before, before
					s := h.service()
					_, _, err := put(s, "t", 1, ask())
					if undo {
						wantStatus(t, insist(t, func() error { return del(s, "t") }), 200)
						h.check()
						wantStatus(t, insist(t, func() error { _, _, err := put(s, "t", 1, ask()); return err }), 410)
					} else if err != nil {
						wantStatus(t, err, 503)
						s = h.service() // another process
						wantStatus(t, insist(t, func() error { _, _, err := put(s, "t", 1, ask()); return err }), 200)
					}
					h.check()
				})
			}
		}
	}
}

// A PUT that is slow to find a drone departs after the one that had it before was
// undone: the drone's document tells nothing of that any more.
func TestASlowPutDepartsAfterTheUndo(t *testing.T) {
	for n := 1; n <= maxSteps; n++ {
		h := newHarness(t, 1, 1).ready()
		_, _, err := put(h.service(), "a", 1, ask())
		wantStatus(t, err, 200)
		h.pass(time.Minute)
		seen := 0
		before := func(recordtest.Op, string) recordtest.Fault {
			if seen++; seen == n {
				h.pass(10 * time.Second)
				wantStatus(t, del(h.service(), "a"), 200)
			}
			return recordtest.None
		}
		h.assignments.Before, h.drones.Memory.Before = before, before
		s := h.service()
		_, _, err = put(s, "b", 1, ask())
		if h.assignments.Before, h.drones.Memory.Before = nil, nil; err != nil {
			continue // it came when the drone was not free yet
		}
		_, all := h.all()
		a, b := all["a"], all["b"]
		if undone := a.Journal[len(a.Journal)-1].At; b.Content.DepartAt.Before(undone) {
			t.Errorf("undone before operation %d: the next one departs at %s, it was undone at %s", n, b.Content.DepartAt, undone)
		}
		h.check()
	}
}

// A write of a PUT that lands only after its caller has given up, and after the
// workflow has gone on, changes nothing.
func TestLateWritesAreHarmless(t *testing.T) {
	goOn := map[string]func(t *testing.T, h *harness){
		"undo": func(t *testing.T, h *harness) {
			wantStatus(t, del(h.service(), "t"), 200)
		},
		"repeat": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 1, ask())
			wantStatus(t, err, 200)
		},
		"repeat and undo": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 1, ask())
			wantStatus(t, err, 200)
			wantStatus(t, del(h.service(), "t"), 200)
		},
		"undo, and others take all drones": func(t *testing.T, h *harness) {
			wantStatus(t, del(h.service(), "t"), 200)
			for i := range h.cfg.Drones {
				_, _, err := put(h.service(), fmt.Sprintf("other-%d", i), 1, ask())
				wantStatus(t, err, 200)
			}
		},
		"a change": func(t *testing.T, h *harness) {
			a := ask()
			a.Expedited = true
			_, _, err := put(h.service(), "t", 2, a)
			wantStatus(t, err, 200)
		},
	}
	for name, next := range goOn {
		for _, before := range []bool{false, true} { // a confirmed assignment that is changed
			for n := 1; n <= 4; n++ {
				t.Run(fmt.Sprintf("%s, confirmed before %v, write %d", name, before, n), func(t *testing.T) {
					h := newHarness(t, 2, 1).ready()
					if before {
						_, _, err := put(h.service(), "t", 0, ask())
						wantStatus(t, err, 200)
					}
					var late func() error
					s := h.tapped(&tap{write: func(i int, do func() error) error {
						if i != n {
							return do()
						}
						late = do
						return transient("late")
					}})
					_, _, err := put(s, "t", 1, ask())
					if late == nil {
						wantStatus(t, err, 200)
						return
					}
					wantStatus(t, err, 503)
					next(t, h)
					if err := late(); err == nil {
						t.Log("the late write landed")
					}
					h.check()
				})
			}
		}
	}
}

// Another runner of the same transaction, or another transaction, acts between
// any two operations of a PUT.
func TestPutIsOvertaken(t *testing.T) {
	type overtaker struct {
		name string
		act  func(t *testing.T, h *harness)
		want []int // allowed statuses of the PUT
	}
	overtakers := []overtaker{
		{"undo", func(t *testing.T, h *harness) { wantStatus(t, del(h.service(), "t"), 200) }, []int{200, 410}},
		{"the same PUT", func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 1, ask())
			wantStatus(t, err, 200)
		}, []int{200}},
		{"a later revision", func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 2, ask())
			wantStatus(t, err, 200)
		}, []int{200, 409}},
		{"another transaction", func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "other", 1, ask())
			wantStatus(t, err, 200)
		}, []int{200}},
		{"the same PUT and undo", func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 1, ask())
			wantStatus(t, err, 200)
			wantStatus(t, del(h.service(), "t"), 200)
		}, []int{200, 410}},
	}
	for _, o := range overtakers {
		for n := 1; n <= maxSteps; n++ {
			t.Run(fmt.Sprintf("%s before operation %d", o.name, n), func(t *testing.T) {
				h := newHarness(t, 2, 1).ready()
				seen, acting := 0, false
				before := func(recordtest.Op, string) recordtest.Fault {
					if acting {
						return recordtest.None
					}
					if seen++; seen == n {
						acting = true
						o.act(t, h)
						acting = false
					}
					return recordtest.None
				}
				h.assignments.Before, h.drones.Memory.Before = before, before
				_, _, err := put(h.service(), "t", 1, ask())
				ok := false
				for _, status := range o.want {
					ok = ok || statusOf(err) == status
				}
				if !ok {
					t.Errorf("got %v", err)
				}
				h.check()
			})
		}
	}
}

// The same, the other way round: a PUT acts between any two operations of an
// undo. Whatever it did, the undo wins.
func TestUndoIsOvertaken(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		for n := 1; n <= maxSteps; n++ {
			t.Run(fmt.Sprintf("confirmed %v, PUT before operation %d", confirmed, n), func(t *testing.T) {
				h := newHarness(t, 2, 1).ready()
				writes := 2 // intent and claim
				if confirmed {
					writes = 3
				}
				s := h.tapped(&tap{write: func(i int, do func() error) error {
					if i > writes {
						return transient("crashed")
					}
					return do()
				}})
				_, _, err := put(s, "t", 1, ask())
				wantStatus(t, err, map[bool]int{false: 503, true: 200}[confirmed])
				seen, acting := 0, false
				before := func(recordtest.Op, string) recordtest.Fault {
					if acting {
						return recordtest.None
					}
					if seen++; seen == n {
						acting = true
						if _, _, err := put(h.service(), "t", 1, ask()); err != nil {
							wantStatus(t, err, 410)
						}
						acting = false
					}
					return recordtest.None
				}
				h.assignments.Before, h.drones.Memory.Before = before, before
				wantStatus(t, del(h.service(), "t"), 200)
				h.assignments.Before, h.drones.Memory.Before = nil, nil
				h.check()
				if held := h.held("t"); len(held) != 0 {
					t.Errorf("still holds %v", held)
				}
			})
		}
	}
}

// Two runners of one transaction whose clocks differ don't agree on whether the
// candidate is free. One of them confirms, and no drone is held for the other.
func TestClocksMayDiffer(t *testing.T) {
	for n := 1; n <= 3; n++ {
		h := newHarness(t, 1, 1)
		flight, _, err := put(h.service(), "x", 1, ask())
		wantStatus(t, err, 200)
		h.cfg.Drones = 2
		h.ready()
		_, _, err = put(h.service(), "y", 1, ask())
		wantStatus(t, err, 200)
		h.pass(flight.ArriveAt.Sub(h.clock())) // by a clock that is behind, both are still busy
		h.cfg.Drones = 3
		h.ready()
		s := h.tapped(&tap{write: func(i int, do func() error) error {
			if i == n {
				h.slow = time.Second
				_, _, err := put(h.service(), "t", 1, ask())
				wantStatus(t, err, 200)
			}
			return do()
		}})
		got, _, err := put(s, "t", 1, ask())
		if held := h.held("t"); err != nil || len(held) != 1 || held[0] != got.DroneID {
			t.Errorf("write %d: got %+v, %v, holds %v", n, got, err, held)
		}
	}
}

func TestCancelledContextIsTransient(t *testing.T) {
	h := newHarness(t, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := h.service().Put(ctx, "t", by("t", 1), ask())
	wantStatus(t, err, 503)
}

// A change to a sooner flight is overtaken by one that goes back to the later
// flight: the drone is held until that one is over.
func TestASoonerFlightIsOvertaken(t *testing.T) {
	later := ask()
	later.PickupTime = start.Add(2 * time.Hour)
	for n := 1; n <= maxSteps; n++ {
		t.Run(fmt.Sprintf("before operation %d", n), func(t *testing.T) {
			h := newHarness(t, 1, 1)
			_, _, err := put(h.service(), "t", 1, later)
			wantStatus(t, err, 200)
			s := h.service()
			_, err = s.Drone(t.Context(), "zone-000-00000") // the fleet is known
			wantStatus(t, err, 200)
			seen, acting := 0, false
			before := func(recordtest.Op, string) recordtest.Fault {
				if acting {
					return recordtest.None
				}
				if seen++; seen == n {
					acting = true
					_, _, err := put(h.service(), "t", 3, later)
					wantStatus(t, err, 200)
					acting = false
				}
				return recordtest.None
			}
			h.assignments.Before, h.drones.Memory.Before = before, before
			_, _, err = put(s, "t", 2, ask())
			if status := statusOf(err); status != 200 && status != 409 {
				t.Errorf("got %v", err)
			}
			h.assignments.Before, h.drones.Memory.Before = nil, nil
			rec, err := h.service().Get(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			h.pass(rec.Content.ArriveAt.Add(-time.Second).Sub(h.clock()))
			h.check()
		})
	}
}

// An undo of a PUT that broke off behind its intent leaves the drone to the
// transaction that has claimed it since.
func TestUndoLeavesTheDroneOfAnother(t *testing.T) {
	h := newHarness(t, 1, 1).ready()
	s := h.tapped(&tap{write: func(n int, do func() error) error {
		if n == 2 { // the claim
			return transient("crashed")
		}
		return do()
	}})
	_, _, err := put(s, "t", 1, ask())
	wantStatus(t, err, 503)
	_, _, err = put(h.service(), "other", 1, ask())
	wantStatus(t, err, 200)
	wantStatus(t, del(h.service(), "t"), 200)
	h.check()
	if held := h.held("other"); len(held) != 1 {
		t.Errorf("the other holds %v", held)
	}
}
