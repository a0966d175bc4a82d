package trial

import (
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func (w *world) checkConfirmed(f *trial.Findings) {
	w.completed(func(p *workflow.Progress) {
		a := w.assignments[p.ID]
		if a == nil {
			return // a violation of another rule
		}
		f.Checked++
		if a.Content.DroneID == "" || a.Content.Candidate != nil {
			f.Broken(p.ID, "half done", "the assignment of drone %q is not confirmed", a.Content.DroneID)
		}
	})
}

func (w *world) checkSchedules(f *trial.Findings) {
	w.completed(func(p *workflow.Progress) {
		a, d := w.assignments[p.ID], w.deliveries[p.ID]
		if a == nil || d == nil {
			return // a violation of another invariant
		}
		if p.Reason != "" && a.Revision > d.Revision {
			return // the drone could not be put back, or the delivery
		}
		f.Checked++
		flown, told := a.Content.Flight, d.Content.Ask
		if told.DroneID != flown.DroneID {
			f.Broken(p.ID, "other drone", "the delivery has drone %s, the assignment %s", told.DroneID, flown.DroneID)
		}
		if !told.DepartAt.Equal(flown.DepartAt) || !told.PickupAt.Equal(flown.PickupAt) || !told.ArriveAt.Equal(flown.ArriveAt) {
			f.Broken(p.ID, "other times", "the delivery departs at %s and arrives at %s, its drone at %s and %s",
				stamp(told.DepartAt), stamp(told.ArriveAt), stamp(flown.DepartAt), stamp(flown.ArriveAt))
		}
	})
}
