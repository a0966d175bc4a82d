package invariant

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// envelopeOf returns what an entry of the quarantine holds. It is false for what
// nobody can read.
func envelopeOf(e *quarantine.Entry) (engine.Envelope, bool) {
	body, err := e.Bytes()
	if err != nil {
		return engine.Envelope{}, false
	}
	m, err := engine.Decode(body)
	return m, err == nil
}

// entryKey names an entry: no other has the same.
func entryKey(e *quarantine.Entry) string { return e.Source + "/" + e.ID }

// isDeadLetter reports whether an entry is one of a queue's dead letters: Service
// Bus gave up on delivering the message, in an outage, say.
func (x *index) isDeadLetter(e *quarantine.Entry) bool {
	return slices.ContainsFunc(x.Queues, func(q Queue) bool { return e.Source == quarantine.DeadLetterSource(q.Name) })
}

// endedInQuarantine returns the operations that have ended there, because they
// were too old or too large to be run. The dead letters don't count: what they
// ask for is put on record besides. Nor does what was set aside as another shard's.
func (x *index) endedInQuarantine() map[string]bool {
	ended := map[string]bool{}
	for i := range x.Quarantine {
		if e := &x.Quarantine[i]; !x.isDeadLetter(e) && e.Reason != quarantine.ReasonOtherShard {
			if m, ok := envelopeOf(e); ok && m.Operation != "" {
				ended[m.OperationID] = true
			}
		}
	}
	return ended
}

// PoisonSetAside reports whether all poison is in the quarantine, whatever else is.
func (s *Snapshot) PoisonSetAside() bool {
	left := map[string]bool{}
	for _, hash := range s.Poison {
		left[hash] = true
	}
	for i := range s.Quarantine {
		if body, err := s.Quarantine[i].Bytes(); err == nil {
			delete(left, BodyHash(body))
		}
	}
	return len(left) == 0
}

// checkQuarantine wants the poison to be there, dead letters whose transaction
// goes on without them, and operations that have ended there. It compares bodies:
// where an event ends up on the hub, and how often an unacknowledged one is sent,
// is not its sender's to know.
func checkQuarantine(x *index, f *trial.Findings) {
	left := map[string]bool{} // not found yet
	for _, hash := range x.Poison {
		left[hash] = true
	}
	poison := maps.Clone(left)
	seen := map[string]bool{}
	for i := range x.Quarantine {
		e := &x.Quarantine[i]
		f.Checked++
		body, err := e.Bytes()
		hash := BodyHash(body)
		if err != nil {
			f.Broken(e.ID, "quarantine", "%v", err)
			continue
		}
		key := entryKey(e)
		if seen[key] {
			f.Broken(e.ID, "quarantine", "it is there twice")
			continue
		}
		seen[key] = true
		if poison[hash] {
			delete(left, hash)
			continue
		}
		x.checkKeptMessage(e, f)
	}
	for hash := range trial.Sorted(left) {
		f.Checked++
		f.Broken(hash, "poison lost", "a body with this SHA-256 was put on the hub or into a queue, and is not in the quarantine")
	}
}

// checkKeptMessage looks at an entry that is no poison. A wake that came to no
// transaction is as bad as any other: it was sent for one.
func (x *index) checkKeptMessage(e *quarantine.Entry, f *trial.Findings) {
	m, readable := envelopeOf(e)
	dead := x.isDeadLetter(e) && x.transactions[m.TransactionID] != nil
	switch {
	case !readable || !dead && !x.quarantined[m.OperationID]:
		f.Broken(cmp.Or(e.TransactionID, e.ID), "not poison", "%s from %s is no poison: %s %s", e.ID, e.Source, e.Reason, e.Detail)
	case dead && m.Operation != "":
		if _, recorded := x.recorded(m.TransactionID, m.OperationID); !recorded {
			f.Broken(m.TransactionID, "not on record", "its %s %s is in the quarantine as %s, and nobody has put it on record", m.Operation, m.OperationID, e.ID)
		}
	}
}
