package invariant

import (
	"cmp"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// checkJournals replays the journal of each effect.
func checkJournals(x *index, f *trial.Findings) {
	for _, e := range x.effects {
		f.Checked++
		r := begin(e, f)
		for i, entry := range e.Journal {
			if want := r.forgotten + i + 1; entry.Seq != want {
				f.Broken(cmp.Or(entry.TransactionID, e.id), "gap", "%v has entry %d in the place of %d", e, entry.Seq, want)
			}
			r.next(entry)
		}
		r.end()
	}
}

// replay is a journal on its way. A package may have several transactions, one
// after the other; what follows holds for each of them.
type replay struct {
	*effect
	*trial.Findings
	owner string              // of the live content so far
	last  record.JournalEntry // of the owner
	seen  map[string]bool
	// forgotten is how many entries there were before the first one.
	forgotten int
}

// begin returns the replay of a journal from its first entry. One that is full
// has forgotten those before it, and what they have led to.
func begin(e *effect, f *trial.Findings) replay {
	r := replay{effect: e, Findings: f, seen: map[string]bool{}}
	if len(e.Journal) < record.MaxEntries {
		return r
	}
	first := e.Journal[0]
	r.forgotten = first.Seq - 1
	if r.forgotten > 0 && first.Change != record.Created {
		r.owner, r.last.Hash, r.seen[first.TransactionID] = first.TransactionID, first.Hash, true
	}
	return r
}

func (r *replay) next(e record.JournalEntry) {
	switch {
	case e.Change == record.Created:
		if r.owner != "" {
			r.Broken(e.TransactionID, "created twice", "%v for %s, while it was there for %s", r.effect, e.TransactionID, r.owner)
		} else if r.seen[e.TransactionID] {
			r.Broken(e.TransactionID, "created twice", "%v, again after it was deleted", r.effect)
		}
		r.owner, r.seen[e.TransactionID] = e.TransactionID, true
	case r.owner != e.TransactionID:
		r.Broken(cmp.Or(e.TransactionID, r.id), "journal", "%v was %s by %s, while it was there for %q", r.effect, e.Change, e.TransactionID, r.owner)
	case e.Change == record.Changed:
		if e.Revision <= r.last.Revision {
			r.Broken(e.TransactionID, "changed twice", "%v to revision %d after revision %d", r.effect, e.Revision, r.last.Revision)
		}
	case e.Change == record.Deleted:
		if e.Revision < r.last.Revision || e.Hash != r.last.Hash {
			r.Broken(e.TransactionID, "journal", "%v was deleted as another than it was", r.effect)
		}
		r.owner = ""
	default:
		r.Broken(cmp.Or(e.TransactionID, r.id), "journal", "%v was %q", r.effect, e.Change)
	}
	r.last = e
}

// end compares what the journal has led to with what is there.
func (r *replay) end() {
	e := r.effect
	if r.owner != e.TransactionID {
		r.Broken(cmp.Or(e.TransactionID, r.owner, e.id), "journal", "%v is there for %q, its journal ends with %q", e, e.TransactionID, r.owner)
	} else if e.Live() && (e.Revision != r.last.Revision || e.Hash != r.last.Hash) {
		r.Broken(e.TransactionID, "journal", "%v has revision %d, its journal ends with %d or another content", e, e.Revision, r.last.Revision)
	}
	stones := map[string]bool{}
	for _, t := range e.Tombstones {
		if stones[t.TransactionID] {
			r.Broken(t.TransactionID, "undone twice", "%v has two of its tombstones", e)
		}
		stones[t.TransactionID] = true
	}
	for id := range trial.Sorted(r.seen) {
		if id == r.owner && stones[id] {
			r.Broken(id, "undone", "%v is live beside its tombstone", e)
		} else if id != r.owner && !stones[id] {
			r.Broken(id, "no tombstone", "%v was deleted without one", e)
		}
	}
}
