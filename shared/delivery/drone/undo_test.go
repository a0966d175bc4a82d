package drone_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// wantCannotUndo expects the refusal of an undo, with the flight in its text.
func wantCannotUndo(t *testing.T, err error, flight drone.Assignment) {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) || p.Type != record.CannotUndo.ID || p.Status != 409 {
		t.Errorf("got %v", err)
		return
	}
	for _, part := range []string{flight.DroneID, flight.PickupAt.Format(time.RFC3339), flight.ArriveAt.Format(time.RFC3339)} {
		if !strings.Contains(p.Detail, part) {
			t.Errorf("the text does not show %s: %s", part, p.Detail)
		}
	}
}

// Ensure no package gets a second drone: from the pickup on an undo is refused,
// however often it comes, and changes nothing.
func TestNoUndoAfterThePickup(t *testing.T) {
	for name, at := range map[string]func(drone.Assignment) time.Time{
		"at the pickup":     func(a drone.Assignment) time.Time { return a.PickupAt },
		"after the arrival": func(a drone.Assignment) time.Time { return a.ArriveAt.Add(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, 2, 1)
			flight, _, err := put(h.service(), "t", 1, ask())
			wantStatus(t, err, 200)
			h.pass(at(flight).Sub(h.clock()))
			dronesBefore, before := h.all()
			for range 3 {
				wantCannotUndo(t, del(h.service(), "t"), flight)
			}
			dronesAfter, after := h.all()
			rec := after["t"]
			rec.Content.PickedUp = false
			after["t"] = rec
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the assignment is another (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(dronesBefore, dronesAfter); diff != "" {
				t.Errorf("the drones are others (-before +after):\n%s", diff)
			}
			_, change, err := put(h.service(), "t", 2, ask()) // the put-back of a workflow that goes on
			if err != nil || change != record.Changed {
				t.Errorf("put back: %q, %v", change, err)
			}
			wantCannotUndo(t, del(h.service(), "t"), flight)
		})
	}
}

// Ensure an undo that was done in time stays done: a repeat after the pickup is
// answered as before.
func TestAnUndoInTimeIsRepeated(t *testing.T) {
	h := newHarness(t, 2, 1)
	flight, _, err := put(h.service(), "t", 1, ask())
	wantStatus(t, err, 200)
	h.pass(flight.PickupAt.Add(-time.Millisecond).Sub(h.clock()))
	wantStatus(t, del(h.service(), "t"), 200)
	h.check()
	h.pass(time.Hour)
	wantStatus(t, del(h.service(), "t"), 200)
	_, _, err = put(h.service(), "t", 1, ask())
	wantStatus(t, err, 410)
	h.check()
}

// Ensure an assignment that was never confirmed can always be undone, at whatever
// write its PUT broke off, and that no late write of the PUT makes a flight of it.
func TestAnUnconfirmedAssignmentCanBeUndone(t *testing.T) {
	for n := 2; n <= 3; n++ { // the claim, the confirmation
		h := newHarness(t, 2, 1).ready()
		var late func() error
		s := h.tapped(&tap{write: func(i int, do func() error) error {
			if i != n {
				return do()
			}
			late = do
			return transient("late")
		}})
		_, _, err := put(s, "t", 1, ask())
		wantStatus(t, err, 503)
		h.pass(time.Hour) // longer than the flight would have taken
		wantStatus(t, del(h.service(), "t"), 200)
		if err := late(); err == nil {
			t.Errorf("write %d of the PUT has overtaken its undo", n)
		}
		wantStatus(t, del(h.service(), "t"), 200)
		h.check()
	}
}

// Ensure one who was told that it can't be undone can rely on it: an undo that
// was judged before the pickup and lands later, or that is judged by a clock that
// is behind, fails.
func TestARefusedUndoIsFinal(t *testing.T) {
	t.Run("late write", func(t *testing.T) {
		h := newHarness(t, 1, 1)
		flight, _, err := put(h.service(), "t", 1, ask())
		wantStatus(t, err, 200)
		h.pass(flight.PickupAt.Add(-time.Second).Sub(h.clock()))
		seen := 0
		h.assignments.Before = func(op recordtest.Op, _ string) recordtest.Fault {
			if op == recordtest.Replace {
				if seen++; seen == 1 {
					h.pass(time.Second)
					wantCannotUndo(t, del(h.service(), "t"), flight)
				}
			}
			return recordtest.None
		}
		wantCannotUndo(t, del(h.service(), "t"), flight)
		h.check()
	})
	t.Run("clock behind", func(t *testing.T) {
		h := newHarness(t, 1, 1)
		flight, _, err := put(h.service(), "t", 1, ask())
		wantStatus(t, err, 200)
		h.pass(flight.PickupAt.Sub(h.clock()))
		wantCannotUndo(t, del(h.service(), "t"), flight)
		h.slow = time.Second
		wantCannotUndo(t, del(h.service(), "t"), flight)
		_, _, err = put(h.service(), "t", 2, drone.Ask{Pickup: ask().Pickup, DropOff: ask().Pickup, PackageDetail: ask().PackageDetail})
		wantStatus(t, err, 409)
		h.check()
	})
}
