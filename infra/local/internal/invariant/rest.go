package invariant

import (
	"cmp"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func checkDeadLetters(x *index, f *trial.Findings) {
	for _, q := range x.Queues {
		f.Checked++
		if q.DeadLetters > 0 {
			f.Broken(q.Name, "dead letters", "%d messages that nobody has looked at", q.DeadLetters)
		}
	}
}

// each calls visit for each transaction, and counts it.
func (x *index) each(f *trial.Findings, visit func(p *workflow.Progress)) {
	for _, id := range x.ids {
		f.Checked++
		visit(x.transactions[id])
	}
}

func checkWakes(x *index, f *trial.Findings) {
	x.each(f, func(p *workflow.Progress) {
		switch {
		case p.Rests() && (!p.WakeAt.IsZero() || p.WakeQueue != ""):
			f.Broken(p.ID, "wake left", "it is %s, and is to be woken at %s", p.State, p.WakeAt)
		case p.Rests():
		case p.WakeAt.IsZero():
			f.Broken(p.ID, "no wake", "it is %s, and nothing will ever wake it", p.State)
		case p.WakeAt.Before(x.Now):
			f.Broken(p.ID, "overdue", "it is %s, and was to be woken at %s", p.State, p.WakeAt)
		}
	})
}

func checkLeases(x *index, f *trial.Findings) {
	x.each(f, func(p *workflow.Progress) {
		if p.Rests() && (p.Lease.Runner != "" || !p.Lease.Until.IsZero()) {
			f.Broken(p.ID, "lease left", "it is %s, and %q holds it until %s", p.State, p.Lease.Runner, p.Lease.Until)
		}
		if names := p.Marked(); p.State.Final() && len(names) > 0 {
			f.Broken(p.ID, "in flight", "it is %s, and %v may be on its way", p.State, names)
		}
	})
}

// soon is a lifetime in seconds that is too short for what is live in a backend:
// the time after which something is needed no more is weeks.
const soon = 24 * 60 * 60

// checkLifetimes looks at the TTLs: one on what is open, or a short one on what is
// live, would lose it, and what has none would stay for ever.
func checkLifetimes(x *index, f *trial.Findings) {
	x.each(f, func(p *workflow.Progress) {
		if p.State.Final() != (p.TTL > 0) {
			f.Broken(p.ID, "lifetime", "it is %s, and lives for %d s", p.State, p.TTL)
		}
	})
	for _, o := range x.Outside {
		f.Checked++
		if o.TTL <= 0 {
			f.Broken(o.TransactionID, "lifetime", "operation %s outside of it lives for %d s", o.OperationID, o.TTL)
		}
	}
	for _, b := range x.beside {
		f.Checked++
		if b.ttl <= 0 {
			f.Broken(b.doc, "lifetime", "the tombstone beside %s %s lives for %d s", b.of.step, b.of.id, b.ttl)
		}
	}
	for _, e := range x.effects {
		f.Checked++
		if e.TTL <= 0 || e.Live() && e.TTL < soon {
			f.Broken(cmp.Or(e.TransactionID, e.id), "lifetime", "%v is live: %t, and lives for %d s", e, e.Live(), e.TTL)
		}
	}
}

// checkNotices wants one notice for each time that a transaction came to rest,
// and each delivered.
func checkNotices(x *index, f *trial.Findings) {
	if !x.Notifications {
		return
	}
	x.each(f, func(p *workflow.Progress) {
		if n := len(p.Outbox.Notices); n > 0 || !p.Outbox.At.IsZero() {
			f.Broken(p.ID, "not told", "%d notices wait, due at %s", n, p.Outbox.At)
		}
		if len(p.History) >= workflow.MaxHistory {
			return // it has forgotten some
		}
		ends := 0
		for _, e := range p.History {
			if e.State.Final() || e.State == workflow.Stuck {
				ends++
			}
		}
		if p.Outbox.Count != ends {
			f.Broken(p.ID, "notices", "%d for %d times that it came to rest", p.Outbox.Count, ends)
		}
	})
}
