package invariant

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// asks read the body of a step's call as its backend does.
var asks = map[string]func(json.RawMessage) (any, error){
	delivery.StepPackage:        read[parcel.Content],
	delivery.StepTransportation: read[transportation.Ask],
	delivery.StepDrone:          read[drone.Ask],
	delivery.StepDelivery:       read[deliveries.Ask],
}

func read[T any](body json.RawMessage) (any, error) {
	var ask T
	err := json.Unmarshal(body, &ask)
	return ask, err
}

func checkContents(x *index, f *findings) {
	x.completed(func(p *workflow.Progress) {
		f.checked++
		x.checkRevision(p, f)
		checkLeft(p, f)
		requests, err := x.requests(p)
		if err != nil {
			f.broken(p.ID, "request", "%v", err)
			return
		}
		x.checkRequested(p, requests, f)
		for _, step := range x.effectful {
			live := x.live[place{step, p.ID}]
			if s := p.Step(step); s != nil && len(live) == 1 { // anything else is a violation of another invariant
				x.checkContent(p, s, live[0], requests, f)
			}
		}
	})
	for _, e := range x.effects {
		if e.Live() && e.asked != e.Hash {
			f.broken(e.TransactionID, "content", "%v holds other than it was asked for", e)
		}
	}
}

// checkLeft wants what was left as it was, since a service refused to put it back,
// to be seen: in the step that was refused and in the reason, which names it; and
// nothing else to be so excused.
func checkLeft(p *workflow.Progress, f *findings) {
	refused := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool { return s.Error != nil })
	named := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool {
		return s.Error != nil && strings.HasSuffix(p.Reason, " was refused: "+s.Name+": "+s.Error.Message)
	})
	switch {
	case left(p) && !named:
		f.broken(p.ID, "left", "it is Completed, with the reason %q, and no service has refused that", p.Reason)
	case refused && !left(p):
		f.broken(p.ID, "left", "it is Completed, a step of it has failed, and nobody is told")
	}
}

// left reports whether the completed transaction p was left as it was.
func left(p *workflow.Progress) bool { return p.Reason != "" }

// mayStand reports whether a step's effect may be of the revision. Unless p was
// left as it was, that is the one in which the step has succeeded; otherwise any
// one that was tried since may have taken effect.
func mayStand(p *workflow.Progress, s *workflow.StepProgress, revision int) bool {
	latest := s.Revision
	if left(p) {
		latest = max(latest, s.Tried)
	}
	return s.Revision <= revision && revision <= latest && latest <= p.Revision
}

// checkContent compares an effect with the call that the step would make now: a
// step that no change has affected makes the call that it has made. Where p was
// left as it was it is the call of the effect's own revision.
func (x *index) checkContent(p *workflow.Progress, s *workflow.StepProgress, e *effect, requests []json.RawMessage, f *findings) {
	if !mayStand(p, s, e.Revision) {
		f.broken(p.ID, "revision", "%v has revision %d, its step %d, the transaction %d", e, e.Revision, s.Revision, p.Revision)
		return
	}
	call := x.call(p, s.Name)
	if left(p) {
		if e.Revision < 1 || e.Revision >= len(requests) || requests[e.Revision] == nil || x.madeOfAnother(p, s.Name, e) {
			return
		}
		then := p.Clone()
		then.Request = requests[e.Revision]
		call = x.definition.CallOf(then, s.Name)
	}
	ask, err := asks[s.Name](call.Body)
	if err != nil {
		f.broken(p.ID, "content", "the call of %s can't be read: %v", s.Name, err)
		return
	}
	if want := hashOf(ask); e.Hash != want {
		f.broken(p.ID, "content", "%v was asked for other than revision %d asks for", e, p.Revision)
	}
}

// madeOfAnother reports whether an effect was made of a result that its
// transaction no longer knows: a delivery has the schedule of the drone as it was
// then, and the drone has changed since.
func (x *index) madeOfAnother(p *workflow.Progress, step string, e *effect) bool {
	return step == delivery.StepDelivery && p.Step(delivery.StepDrone).Revision > e.Revision
}

// checkRevision counts: each reschedule that was taken up made a revision, and
// each of them that was refused another one, to go back.
func (x *index) checkRevision(p *workflow.Progress, f *findings) {
	want := 1
	for _, o := range p.Operations {
		if o.Kind != workflow.OperationReschedule || o.Revision == 0 {
			continue
		}
		want++
		if o.State == workflow.OperationRefused {
			want++
		}
	}
	if p.Revision != want {
		f.broken(p.ID, "revision", "it is %d, and its operations have made %d", p.Revision, want)
	}
}

// checkRequested compares the request as it stands with what the client sent:
// the delivery, changed by the applied reschedules in their order. It is not known
// if the ledger does not hold all that was applied.
func (x *index) checkRequested(p *workflow.Progress, requests []json.RawMessage, f *findings) {
	want := requests[len(requests)-1]
	if want == nil {
		return
	}
	same, err := sameRequest(want, p.Request)
	if err != nil {
		f.broken(p.ID, "request", "it can't be read: %v", err)
	} else if !same {
		f.broken(p.ID, "request", "it stands as %s, its client asked for %s", p.Request, want)
	}
}

// requests returns what each revision has asked for, by its number: a reschedule
// that was taken up makes one, and one more, to go back, if it was refused. What
// the ledger does not know is nil, and of revision 0 there is nothing.
func (x *index) requests(p *workflow.Progress) ([]json.RawMessage, error) {
	requests := make([]json.RawMessage, 2)
	if first := x.delivery(p.ID); first != nil {
		requests[1] = first.Body
	}
	taken := slices.DeleteFunc(slices.Clone(p.Operations), func(o workflow.OperationRecord) bool {
		return o.Kind != workflow.OperationReschedule || o.Revision == 0
	})
	slices.SortFunc(taken, func(a, b workflow.OperationRecord) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, o := range taken {
		before := requests[len(requests)-1]
		var request json.RawMessage
		if e := x.ledger[p.ID][o.ID]; before != nil && e != nil && e.Body != nil {
			var err error
			if request, err = x.definition.Merge(before, e.Body); err != nil {
				return nil, fmt.Errorf("change of operation %s: %w", o.ID, err)
			}
		}
		requests = append(requests, request)
		if o.State == workflow.OperationRefused {
			requests = append(requests, before)
		}
	}
	return requests, nil
}
