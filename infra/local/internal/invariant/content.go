package invariant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func checkContents(x *index, f *trial.Findings) {
	x.completed(func(p *workflow.Progress) {
		f.Checked++
		x.checkRevision(p, f)
		checkLeft(p, f)
		requests, err := x.requests(p)
		if err != nil {
			f.Broken(p.ID, "request", "%v", err)
			return
		}
		x.checkRequested(p, requests, f)
		for i := range x.Subject.effects {
			effect := &x.Subject.effects[i]
			live := x.live[place{effect.Name, p.ID}]
			if s := p.Step(effect.Name); s != nil && len(live) == 1 { // anything else is a violation of another invariant
				x.checkContent(p, s, effect, live[0], requests, f)
			}
		}
	})
	for _, e := range x.effects {
		if e.Live() && e.asked != e.Hash {
			f.Broken(e.TransactionID, "content", "%v holds other than it was asked for", e)
		}
	}
}

// checkLeft wants what was left as it was, since a service refused to put it back,
// to be seen: in the step that was refused and in the reason, which names it; and
// nothing else to be so excused.
func checkLeft(p *workflow.Progress, f *trial.Findings) {
	refused := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool { return s.Error != nil })
	named := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool {
		return s.Error != nil && strings.HasSuffix(p.Reason, ": "+s.Name+": "+s.Error.Message)
	})
	switch {
	case left(p) && !named:
		f.Broken(p.ID, "left", "it is Completed, with the reason %q, and no service has refused that", p.Reason)
	case refused && !left(p):
		f.Broken(p.ID, "left", "it is Completed, a step of it has failed, and nobody is told")
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
func (x *index) checkContent(p *workflow.Progress, s *workflow.StepProgress, of *effectful, e *effect, requests []json.RawMessage, f *trial.Findings) {
	if !mayStand(p, s, e.Revision) {
		f.Broken(p.ID, "revision", "%v has revision %d, its step %d, the transaction %d", e, e.Revision, s.Revision, p.Revision)
		return
	}
	if of.Ask == nil {
		return // nobody knows what was asked for
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
	ask, err := of.Ask(call.Body)
	if err != nil {
		f.Broken(p.ID, "content", "the call of %s can't be read: %v", s.Name, err)
		return
	}
	if want := hashOf(ask); e.Hash != want {
		f.Broken(p.ID, "content", "%v was asked for other than revision %d asks for", e, p.Revision)
	}
}

// madeOfAnother reports whether an effect was made of a result that its
// transaction no longer knows: the step that had it was made again since.
func (x *index) madeOfAnother(p *workflow.Progress, step string, e *effect) bool {
	call := x.call(p, step)
	for _, s := range p.Steps {
		if s.Name == step || s.Revision <= e.Revision {
			continue
		}
		without := p.Clone()
		without.Step(s.Name).Result = nil
		if !bytes.Equal(x.definition.CallOf(without, step).Body, call.Body) {
			return true
		}
	}
	return false
}

// checkRevision counts: each reschedule that was taken up made a revision, and
// each of them that was refused another one, to go back.
func (x *index) checkRevision(p *workflow.Progress, f *trial.Findings) {
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
		f.Broken(p.ID, "revision", "it is %d, and its operations have made %d", p.Revision, want)
	}
}

// checkRequested compares the request as it stands with what the client sent:
// the first request, changed by the applied reschedules in their order. It is not known
// if the ledger does not hold all that was applied.
func (x *index) checkRequested(p *workflow.Progress, requests []json.RawMessage, f *trial.Findings) {
	want := requests[len(requests)-1]
	if want == nil {
		return
	}
	if !bytes.Equal(want, p.Request) {
		f.Broken(p.ID, "request", "it stands as %s, its client asked for %s", p.Request, want)
	}
}

// requests returns what each revision has asked for, by its number: a reschedule
// that was taken up makes one, and one more, to go back, if it was refused. What
// the ledger does not know is nil, and of revision 0 there is nothing.
func (x *index) requests(p *workflow.Progress) ([]json.RawMessage, error) {
	requests := make([]json.RawMessage, 2)
	if first := x.start(p.ID); first != nil && first.Body != nil {
		var err error
		if requests[1], err = x.canonical(first.Kind, first.Body); err != nil {
			return nil, fmt.Errorf("the request that was accepted: %w", err)
		}
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
