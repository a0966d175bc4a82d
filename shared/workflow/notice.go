package workflow

import "time"

// Notice is the news that a transaction has come to rest, as it waits to be
// delivered to whoever wants to know. A transaction may come to rest several
// times: a Completed one can be rescheduled, a Stuck one retried.
type Notice struct {
	Number   int     `json:"number"` // 1 for the transaction's first
	State    State   `json:"state"`  // a final one, or Stuck
	Cause    Cause   `json:"cause,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Revision int     `json:"revision"`
	At       Instant `json:"at"`
	// Posted says that the receiver has taken it, and people are still to be told. Due
	// is until when that has to wait, zero if it need not.
	Posted bool    `json:"posted,omitempty"`
	Due    Instant `json:"due,omitzero"`
}

// Outbox holds the notices of a transaction that were not yet delivered. They
// are put into it by the very save that ends the transaction, so that none is
// lost; whoever delivers them takes them out under the document's ETag, without
// touching Saves.
type Outbox struct {
	Notices []Notice `json:"notices,omitempty"` // in the order of their numbers
	Count   int      `json:"count,omitempty"`   // of all notices there ever were
	// Wake numbers the messages that ask for the delivery; At is when the
	// latest is due, zero when nothing waits. Laters counts the consecutive
	// failures.
	Wake   int     `json:"wake,omitempty"`
	At     Instant `json:"at,omitzero"`
	Laters int     `json:"laters,omitempty"`
	// Letter names the latest letter to people, and Sent is how many of those who
	// asked for it have it: it is sent once, however many notices bring it about.
	Letter string `json:"letter,omitempty"`
	Sent   int    `json:"sent,omitempty"`
}

// Latest returns the latest notice that waits, nil if none does.
func (o *Outbox) Latest() *Notice {
	if len(o.Notices) == 0 {
		return nil
	}
	return &o.Notices[len(o.Notices)-1]
}

// announce puts the state that has just been reached into the outbox.
func (p *Progress) announce(now time.Time) {
	o := &p.Outbox
	o.Count++
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], Notice{
		Number: o.Count, State: p.State, Cause: p.Cause, Reason: p.Reason, Revision: p.Revision, At: At(now),
	})
	o.Laters = 0
	p.RaiseNotice(now)
}

// RaiseNotice makes the delivery of the notices due at the given time, with a
// message of a new number.
func (p *Progress) RaiseNotice(at time.Time) {
	p.Outbox.Wake++
	p.Outbox.At = At(at)
}

// Notified takes the notices up to and with that number out of the outbox.
func (p *Progress) Notified(number int) {
	o := &p.Outbox
	var left []Notice
	for _, n := range o.Notices {
		if n.Number > number {
			left = append(left, n)
		}
	}
	o.Notices = left
	o.Laters = 0
	if len(left) == 0 {
		o.At = Instant{}
	}
}
