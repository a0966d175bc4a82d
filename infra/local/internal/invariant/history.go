package invariant

import "github.com/fabrikam/drone-delivery/shared/workflow"

// checkHistory wants the last entry to be of the present state, one start at
// most, and nothing behind an end from which nothing leads away.
func checkHistory(x *index, f *findings) {
	for _, id := range x.ids {
		p := x.transactions[id]
		f.checked++
		if len(p.History) == 0 {
			if p.State != workflow.Accepted {
				f.broken(id, "history", "it is %s, and nobody knows how", p.State)
			}
			continue
		}
		starts := 0
		for i, e := range p.History {
			if e.Event == workflow.EventStart {
				starts++
			}
			if i > 0 && p.History[i-1].State.Final() && p.History[i-1].State != workflow.Completed {
				f.broken(id, "history", "%s after it was %s", e.Event, p.History[i-1].State)
			}
		}
		if starts > 1 {
			f.broken(id, "started twice", "%d times", starts)
		}
		last := p.History[len(p.History)-1]
		if last.State != p.State {
			f.broken(id, "history", "it is %s, its history ends with %s", p.State, last.State)
		}
		if p.State.Final() && !p.EndedAt.Equal(last.At.Time) {
			f.broken(id, "history", "it ended at %s, its history at %s", p.EndedAt, last.At)
		}
	}
}
