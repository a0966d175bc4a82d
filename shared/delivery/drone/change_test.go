package drone_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func inADay() drone.Ask {
	a := ask()
	a.PickupTime = start.Add(24 * time.Hour)
	return a
}

// Ensure flights far ahead leave the fleet to those of today.
func TestADroneIsHeldForItsFlightOnly(t *testing.T) {
	h := newHarness(t, 4, 2)
	s := h.service()
	for n := range 40 {
		later := ask()
		later.PickupTime = start.Add(time.Duration(n/4+1) * 24 * time.Hour)
		_, _, err := put(s, fmt.Sprint("later-", n), 1, later)
		wantStatus(t, err, 200)
	}
	_, _, err := put(s, "one too many", 1, inADay())
	wantStatus(t, err, 429)
	for n := range 4 { // at once, though none was free for another time
		_, _, err := put(s, fmt.Sprint("today-", n), 1, ask())
		wantStatus(t, err, 200)
	}
	_, _, err = put(s, "today-4", 1, ask())
	wantStatus(t, err, 429)
	h.check()
}

// busy returns a harness whose only drone t has in a day, and another transaction
// now; a second drone has come since. So when t wants to fly now it needs that.
func busy(t *testing.T) *harness {
	h := newHarness(t, 1, 1)
	_, _, err := put(h.service(), "t", 1, inADay())
	wantStatus(t, err, 200)
	_, _, err = put(h.service(), "other", 1, ask())
	wantStatus(t, err, 200)
	h.cfg.Drones = 2
	return h.ready()
}

func TestAChangeTakesAnotherDrone(t *testing.T) {
	h := busy(t)
	got, _, err := put(h.service(), "t", 2, ask())
	if err != nil || got.DroneID != "zone-000-00001" {
		t.Errorf("got %+v, %v", got, err)
	}
	h.check()
	wantStatus(t, del(h.service(), "t"), 200)
	h.check()
}

// The same with a fault at any operation, and a repeat or an undo behind it.
func TestAChangeOfTheDroneGoesOnAfterAnyFault(t *testing.T) {
	for _, fault := range []recordtest.Fault{recordtest.Fail, recordtest.Lost} {
		for n := 1; n <= maxSteps; n++ {
			for _, undo := range []bool{false, true} {
				t.Run(fmt.Sprintf("fault %d at operation %d, undo %v", fault, n, undo), func(t *testing.T) {
					h := busy(t)
					seen := 0
					before := func(recordtest.Op, string) recordtest.Fault {
						if seen++; seen == n {
							return fault
						}
						return recordtest.None
					}
					h.assignments.Before, h.drones.Memory.Before = before, before
					_, _, err := put(h.service(), "t", 2, ask())
					if undo {
						wantStatus(t, insist(t, func() error { return del(h.service(), "t") }), 200)
					} else if err != nil {
						wantStatus(t, err, 503)
						wantStatus(t, insist(t, func() error { _, _, err := put(h.service(), "t", 2, ask()); return err }), 200)
					}
					h.check()
				})
			}
		}
	}
}

// And with a write that lands late, after the workflow has gone on.
func TestLateWritesOfAChangeOfTheDrone(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, h *harness){
		"undo": func(t *testing.T, h *harness) { wantStatus(t, del(h.service(), "t"), 200) },
		"repeat": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 2, ask())
			wantStatus(t, err, 200)
		},
		"back": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 3, inADay())
			wantStatus(t, err, 200)
		},
		"back, and to the same again": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 3, inADay())
			wantStatus(t, err, 200)
			_, _, err = put(h.service(), "t", 4, ask())
			wantStatus(t, err, 200)
		},
		"the other is undone, and t back to its drone": func(t *testing.T, h *harness) {
			wantStatus(t, del(h.service(), "other"), 200)
			_, _, err := put(h.service(), "t", 3, ask())
			wantStatus(t, err, 200)
		},
	} {
		for n := 1; n <= 6; n++ {
			t.Run(fmt.Sprintf("%s, write %d", name, n), func(t *testing.T) {
				h := busy(t)
				var late func() error
				s := h.tapped(&tap{write: func(i int, do func() error) error {
					if i != n {
						return do()
					}
					late = do
					return transient("late")
				}})
				_, _, err := put(s, "t", 2, ask())
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

// And overtaken at any operation by another runner of the same transaction.
func TestAChangeOfTheDroneIsOvertaken(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, h *harness){
		"undo": func(t *testing.T, h *harness) { wantStatus(t, del(h.service(), "t"), 200) },
		"the same": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 2, ask())
			wantStatus(t, err, 200)
		},
		"back": func(t *testing.T, h *harness) {
			_, _, err := put(h.service(), "t", 3, inADay())
			wantStatus(t, err, 200)
		},
		"the other is undone": func(t *testing.T, h *harness) { wantStatus(t, del(h.service(), "other"), 200) },
	} {
		for n := 1; n <= maxSteps; n++ {
			t.Run(fmt.Sprintf("%s before operation %d", name, n), func(t *testing.T) {
				h := busy(t)
				seen, acting := 0, false
				before := func(recordtest.Op, string) recordtest.Fault {
					if acting {
						return recordtest.None
					}
					if seen++; seen == n {
						acting = true
						act(t, h)
						acting = false
					}
					return recordtest.None
				}
				h.assignments.Before, h.drones.Memory.Before = before, before
				_, _, err := put(h.service(), "t", 2, ask())
				h.assignments.Before, h.drones.Memory.Before = nil, nil
				h.check()
				if statusOf(err) == 429 { // the free drone was taken for it, which it did not know of
					_, _, err = put(h.service(), "t", 2, ask())
				}
				if status := statusOf(err); status != 200 && status != 409 && status != 410 {
					t.Errorf("got %v", err)
				}
				h.check()
			})
		}
	}
}

// Ensure a change that takes until the pickup comes too late: the package has
// been picked up by the drone that it had.
func TestAChangeThatTakesUntilThePickup(t *testing.T) {
	h := newHarness(t, 1, 1)
	before, _, err := put(h.service(), "t", 1, ask())
	wantStatus(t, err, 200)
	h.pass(before.PickupAt.Add(-time.Second).Sub(h.clock()))
	s := h.tapped(&tap{write: func(n int, do func() error) error {
		if n == 2 { // the claim
			h.pass(time.Second)
		}
		return do()
	}})
	_, _, err = put(s, "t", 2, inADay())
	wantStatus(t, err, 409)
	_, _, err = put(h.service(), "t", 3, ask())
	wantStatus(t, err, 200)
	h.check()
}
