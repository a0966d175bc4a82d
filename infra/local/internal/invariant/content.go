package invariant

import (
	"encoding/json"
	"fmt"

	backenddelivery "github.com/fabrikam/drone-delivery/shared/backend/delivery"
	"github.com/fabrikam/drone-delivery/shared/backend/drone"
	"github.com/fabrikam/drone-delivery/shared/backend/parcel"
	"github.com/fabrikam/drone-delivery/shared/backend/transportation"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// asks read the body of a step's call as its backend does.
var asks = map[string]func(json.RawMessage) (any, error){
	delivery.StepPackage:        read[parcel.Content],
	delivery.StepTransportation: read[transportation.Ask],
	delivery.StepDrone:          read[drone.Ask],
	delivery.StepDelivery:       read[backenddelivery.Ask],
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
		x.checkRequested(p, f)
		for _, step := range x.effectful {
			live := x.live[place{step, p.ID}]
			if s := p.Step(step); s != nil && len(live) == 1 { // anything else is a violation of another invariant
				x.checkContent(p, s, live[0], f)
			}
		}
	})
	for _, e := range x.effects {
		if e.Live() && e.asked != e.Hash {
			f.broken(e.TransactionID, "content", "%v holds other than it was asked for", e)
		}
	}
}

// checkContent compares an effect with the call that the step would make now: a
// step that no change has affected makes the call that it has made.
func (x *index) checkContent(p *workflow.Progress, s *workflow.StepProgress, e *effect, f *findings) {
	if e.Revision != s.Revision || s.Revision > p.Revision {
		f.broken(p.ID, "revision", "%v has revision %d, its step %d, the transaction %d", e, e.Revision, s.Revision, p.Revision)
	}
	ask, err := asks[s.Name](x.call(p, s.Name).Body)
	if err != nil {
		f.broken(p.ID, "content", "the call of %s can't be read: %v", s.Name, err)
		return
	}
	if want := hashOf(ask); e.Hash != want {
		f.broken(p.ID, "content", "%v was asked for other than revision %d asks for", e, p.Revision)
	}
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
// the delivery, changed by the applied reschedules in their order.
func (x *index) checkRequested(p *workflow.Progress, f *findings) {
	want, known, err := x.requested(p)
	if err == nil && known {
		var same bool
		if same, err = sameRequest(want, p.Request); err == nil && !same {
			f.broken(p.ID, "request", "it stands as %s, its client asked for %s", p.Request, want)
		}
	}
	if err != nil {
		f.broken(p.ID, "request", "%v", err)
	}
}

// requested returns what the client has asked for in the end. It is not known
// if the ledger does not hold all that was applied.
func (x *index) requested(p *workflow.Progress) (request json.RawMessage, known bool, err error) {
	first := x.delivery(p.ID)
	if first == nil || first.Body == nil {
		return nil, false, nil
	}
	request = first.Body
	for _, o := range p.Operations {
		if o.Kind != workflow.OperationReschedule || o.State != workflow.OperationApplied {
			continue
		}
		e := x.ledger[p.ID][o.ID]
		if e == nil || e.Body == nil {
			return nil, false, nil
		}
		if request, err = x.definition.Merge(request, e.Body); err != nil {
			return nil, false, fmt.Errorf("change of operation %s: %w", o.ID, err)
		}
	}
	return request, true, nil
}
