package invariant

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// sorted ranges over a map in the order of its keys, so that a report does not
// depend on chance.
func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func checkDeadLetters(x *index, f *findings) {
	for _, q := range x.Queues {
		f.checked++
		if q.DeadLetters > 0 {
			f.broken(q.Name, "dead letters", "%d messages that nobody has looked at", q.DeadLetters)
		}
	}
}

// each calls visit for each transaction, and counts it.
func (x *index) each(f *findings, visit func(p *workflow.Progress)) {
	for _, id := range x.ids {
		f.checked++
		visit(x.transactions[id])
	}
}

func checkWakes(x *index, f *findings) {
	x.each(f, func(p *workflow.Progress) {
		switch {
		case p.Rests() && (!p.WakeAt.IsZero() || p.WakeQueue != ""):
			f.broken(p.ID, "wake left", "it is %s, and is to be woken at %s", p.State, p.WakeAt)
		case p.Rests():
		case p.WakeAt.IsZero():
			f.broken(p.ID, "no wake", "it is %s, and nothing will ever wake it", p.State)
		case p.WakeAt.Before(x.Now):
			f.broken(p.ID, "overdue", "it is %s, and was to be woken at %s", p.State, p.WakeAt)
		}
	})
}

func checkLeases(x *index, f *findings) {
	x.each(f, func(p *workflow.Progress) {
		if p.Rests() && (p.Lease.Runner != "" || !p.Lease.Until.IsZero()) {
			f.broken(p.ID, "lease left", "it is %s, and %q holds it until %s", p.State, p.Lease.Runner, p.Lease.Until)
		}
		if names := p.InFlight(); p.State.Final() && len(names) > 0 {
			f.broken(p.ID, "in flight", "it is %s, and %v may be on its way", p.State, names)
		}
	})
}

// soon is a lifetime in seconds that is too short for what is live in a backend:
// the time after which something is needed no more is weeks.
const soon = 24 * 60 * 60

// checkLifetimes looks at the TTLs: one on what is open, or a short one on what is
// live, would lose it, and what has none would stay for ever.
func checkLifetimes(x *index, f *findings) {
	x.each(f, func(p *workflow.Progress) {
		if p.State.Final() != (p.TTL > 0) {
			f.broken(p.ID, "lifetime", "it is %s, and lives for %d s", p.State, p.TTL)
		}
	})
	for _, o := range x.Outside {
		f.checked++
		if o.TTL <= 0 {
			f.broken(o.TransactionID, "lifetime", "operation %s outside of it lives for %d s", o.OperationID, o.TTL)
		}
	}
	for _, b := range x.beside {
		f.checked++
		if b.ttl <= 0 {
			f.broken(b.doc, "lifetime", "the tombstone beside %s %s lives for %d s", b.of.step, b.of.id, b.ttl)
		}
	}
	for _, e := range x.effects {
		f.checked++
		if e.TTL <= 0 || e.Live() && e.TTL < soon {
			f.broken(cmp.Or(e.TransactionID, e.id), "lifetime", "%v is live: %t, and lives for %d s", e, e.Live(), e.TTL)
		}
	}
}

// checkNotices wants one notice for each time that a transaction came to rest,
// and each delivered.
func checkNotices(x *index, f *findings) {
	if !x.Notifications {
		return
	}
	x.each(f, func(p *workflow.Progress) {
		if n := len(p.Outbox.Notices); n > 0 || !p.Outbox.At.IsZero() {
			f.broken(p.ID, "not told", "%d notices wait, due at %s", n, p.Outbox.At)
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
			f.broken(p.ID, "notices", "%d for %d times that it came to rest", p.Outbox.Count, ends)
		}
	})
}
