package invariant

import (
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ofFlights are what breaks the rules of the business, and the excuse that its pivot is.
var ofFlights = []breakage{
	{"flights", "two at a time", "flying-1", "", func(s *scene) {
		first, second := recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		second.Content.DroneID, second.Content.Zone = first.Content.DroneID, first.Content.Zone
	}},
	{"flights", "two at a time", "flying-0", "not yet back", func(s *scene) {
		first, second := recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		second.Content.DroneID, second.Content.Zone = first.Content.DroneID, first.Content.Zone
		second.Content.DepartAt = first.Content.DepartAt.Add(-time.Second)
		second.Content.ArriveAt = first.Content.DepartAt.Add(time.Millisecond)
	}},
	{"flights", "two at a time", "flying-1", "inside a longer one", func(s *scene) {
		longest, first, second := recordOf(s.Assignments, "plain-0-0"), recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		for _, r := range []*record.Record[drone.Assignment]{first, second} {
			r.Content.DroneID, r.Content.Zone = longest.Content.DroneID, longest.Content.Zone
		}
		longest.Content.ArriveAt = s.Now.Add(time.Hour)
		first.Content.ArriveAt = first.Content.DepartAt.Add(time.Millisecond)
	}},
	{"packages", "two drones", "flying-1", "both live", func(s *scene) {
		recordOf(s.Assignments, "flying-1").Content.PackageDetail.ID = recordOf(s.Assignments, "flying-0").Content.PackageDetail.ID
	}},
	{"packages", "two drones", "second-owner", "undone after the pickup", assignment("first-owner", pickedUpBeforeTheUndo)},
	{"grounded", "undone in the air", "cancelled", "", assignment("cancelled", pickedUpBeforeTheUndo)},
	{"grounded", "undone in the air", "cancelled", "somebody was told so", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Content.PickedUp = true })},
	{"grounded", "taken back", "far", "nothing was picked up", func(s *scene) {
		takeBack(s, "far")
		recordOf(s.Assignments, "far").Content.PickedUp = false
	}},
	{"grounded", "taken back", "far", "the cancel is not refused", func(s *scene) {
		takeBack(s, "far")
		transaction(s, "far").Operations[1].State = workflow.OperationSuperseded
	}},
	{"accepted", "stuck", "stuck", "refused otherwise in the air", func(s *scene) {
		stickInTheAir(s)
		transaction(s, "stuck").Step("drone").UndoError.Type = "other"
	}},
	{"accepted", "stuck", "stuck", "refused on the ground", func(s *scene) {
		stickInTheAir(s)
		recordOf(s.Assignments, "stuck").Content.PickedUp = false
	}},
	{"grounded", "flies", "cancelled", "", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.TransactionID = r.ID })},
	{"grounded", "package let go", "flying-0", "", pack("p-flying-0", func(r *record.Record[parcel.Content]) {
		journal(r, record.JournalEntry{Change: record.Deleted, Revision: 1})
	})},
	{"drones", "no drone", "far", "", func(s *scene) {
		flight := recordOf(s.Assignments, "far").Content
		s.Drones = drop(s.Drones, found(s.Drones, func(d *drone.Drone) bool { return d.ID == flight.DroneID }))
	}},
	{"drones", "drone lost", "flying-0", "", func(s *scene) { *droneOf(s, "flying-0") = free(droneOf(s, "flying-0")) }},
	{"drones", "held for nobody", "heavy", "", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.TransactionID = "heavy" }) }},
	{"drones", "held for nobody", "cancelled", "undone", func(s *scene) {
		flight := recordOf(s.Assignments, "cancelled").Content
		d := found(s.Drones, func(d *drone.Drone) bool { return d.ID == flight.DroneID })
		window := drone.Window{From: flight.DepartAt.UnixMilli(), Until: flight.ArriveAt.UnixMilli()}
		d.Holds = []drone.Hold{{TransactionID: "cancelled", Window: window}}
		d.BusyUntil = window.Until
	}},
	{"drones", "held for nobody", "flying-1", "swapped", func(s *scene) {
		a, b := droneOf(s, "flying-0"), droneOf(s, "flying-1")
		a.Holds, b.Holds, a.BusyUntil, b.BusyUntil = b.Holds, a.Holds, b.BusyUntil, a.BusyUntil
	}},
	{"drones", "held for nobody", "zone-000-00000", "nobody at all", func(s *scene) {
		d := found(s.Drones, func(d *drone.Drone) bool { return d.ID == "zone-000-00000" })
		d.Holds, d.BusyUntil = nil, 1
	}},
	{"drones", "held twice", "flying-1", "", func(s *scene) {
		first, second := droneOf(s, "flying-0"), droneOf(s, "flying-1")
		first.Holds = append(first.Holds, second.Holds...)
		first.BusyUntil = max(first.BusyUntil, second.BusyUntil)
		second.Holds, second.BusyUntil = nil, 0
		recordOf(s.Assignments, "flying-1").Content.DroneID = first.ID
	}},
	{"drones", "held for another time", "flying-0", "shorter", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.Until-- }) }},
	{"drones", "held for another time", "flying-0", "longer", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.Until++ }) }},
	{"drones", "held for another time", "flying-0", "later", func(s *scene) {
		hold(s, "flying-0", func(h *drone.Hold) { h.From = recordOf(s.Assignments, "flying-0").Content.DepartAt.UnixMilli() + 1 })
	}},
}

// hold changes the last hold of the drone that is held for a transaction.
func hold(s *scene, transactionID string, change func(*drone.Hold)) {
	d := droneOf(s, transactionID)
	d.Holds = slices.Clone(d.Holds)
	h := &d.Holds[len(d.Holds)-1]
	change(h)
	d.BusyUntil = h.Until
}

// pickedUpBeforeTheUndo makes an assignment that was undone one that was undone
// at its pickup.
func pickedUpBeforeTheUndo(r *record.Record[drone.Assignment]) {
	r.Content.PickupAt = found(r.Journal, func(e *record.JournalEntry) bool { return e.Change == record.Deleted && e.TransactionID == r.ID }).At
}

// takeBack has a cancel of a completed transaction come too late: its drone has
// picked up.
func takeBack(s *scene, id string) {
	p := transaction(s, id)
	for _, e := range []workflow.StateChange{
		{Transition: workflow.TransitionCompensate, State: workflow.Compensating}, {Transition: workflow.TransitionResume, State: workflow.Running},
		{Transition: workflow.TransitionComplete, State: workflow.Completed},
	} {
		e.At = p.EndedAt
		p.History = append(p.History, e)
	}
	p.Operations = append(p.Operations, workflow.OperationRecord{ID: "op-x", Kind: workflow.OperationCancel,
		State: workflow.OperationRefused, Reason: "it is picked up", Revision: 1, EndedAt: p.EndedAt})
	p.Outbox.Count++
	recordOf(s.Assignments, id).Content.PickedUp = true
}

// stickInTheAir has a transaction stuck since its drone has picked up, not because
// of a fault.
func stickInTheAir(s *scene) {
	delete(s.UndoRefused, "stuck")
	transaction(s, "stuck").Step("drone").UndoError = &workflow.StepError{Status: 409, Type: record.CannotUndo.ID, Message: "it is picked up"}
	recordOf(s.Assignments, "stuck").Content.PickedUp = true
}

// free returns a drone that nobody holds.
func free(d *drone.Drone) drone.Drone { return drone.Drone{ID: d.ID, Zone: d.Zone} }
