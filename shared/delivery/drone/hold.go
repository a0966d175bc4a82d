package drone

import (
	"cmp"
	"slices"
	"time"
)

// maxHolds bounds a drone's document: a hold takes up to 140 bytes, so that with
// 32 of them it stays below 5 KB, and a write of it cheap. With the flights of
// the next weeks spread over the fleet a drone needs a few.
const maxHolds = 32

// Window is a time for which a drone is wanted: from From (included) to Until
// (excluded), in Unix milliseconds.
type Window struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

func (w Window) overlaps(other Window) bool { return w.From < other.Until && other.From < w.Until }

func (w Window) covers(other Window) bool { return w.From <= other.From && other.Until <= w.Until }

// Hold is a window for which a drone is set aside for a transaction.
type Hold struct {
	TransactionID string `json:"transactionId"`
	Window
}

// window returns the time for which a flight that is planned at now needs its
// drone: from its departure, and before that as long as an approach takes, but
// not from before now, to its arrival. A drone that is sent off at once needs no
// time before. One that is planned for later may come from another flight: the
// approach is the longest that it is planned to take to anywhere, and keeps a
// flight that is late from making the next one late.
//
// Windows are compared with each other, never with a clock: what begins now by
// some clock can't overlap what is over by that clock, whatever others say.
func (c Config) window(f Flight, now time.Time) Window {
	from := f.DepartAt.Add(-c.scaled(c.Approach))
	if from.Before(now) {
		from = now
	}
	if f.DepartAt.Before(from) {
		from = f.DepartAt
	}
	return Window{From: from.UnixMilli(), Until: f.ArriveAt.UnixMilli()}
}

// HoldOf returns the transaction's hold with the latest end, if it has one.
func (d Drone) HoldOf(transactionID string) (Hold, bool) {
	var found Hold
	for _, h := range d.Holds {
		if h.TransactionID == transactionID && h.Until >= found.Until {
			found = h
		}
	}
	return found, found.TransactionID != ""
}

// HeldAt returns the hold that is on at now, if there is one.
func (d Drone) HeldAt(now time.Time) (Hold, bool) {
	at := now.UnixMilli()
	for _, h := range d.Holds {
		if h.From <= at && at < h.Until {
			return h, true
		}
	}
	return Hold{}, false
}

// FreeFor reports whether no other transaction than this has d in w, and there
// is room for one more hold, once those are dropped that are over at now. Those
// count for w all the same: it may have begun a moment before now.
func (d Drone) FreeFor(transactionID string, w Window, now time.Time) bool {
	others := 0
	for _, h := range d.Holds {
		switch {
		case h.TransactionID == transactionID:
		case h.overlaps(w):
			return false
		case h.Until > now.UnixMilli():
			others++
		}
	}
	return others+2 <= maxHolds // a change needs two
}

// clockMargin is how long a hold stays that is over, for those whose clocks are
// behind: to them it is not.
const clockMargin = 5 * time.Second

// hold sets d aside for a transaction in the windows, and in no others. What has
// been over for the clockMargin is dropped, be it another's or a window: a flight that
// stands may be over by this clock alone.
func (d *Drone) hold(transactionID string, now time.Time, windows ...Window) {
	at := now.UnixMilli()
	over := at - clockMargin.Milliseconds()
	kept := make([]Hold, 0, len(d.Holds)+len(windows))
	for _, h := range d.Holds {
		if h.TransactionID != transactionID && h.Until > over {
			kept = append(kept, h)
		}
	}
	for _, w := range windows {
		if w.Until > over {
			kept = append(kept, Hold{transactionID, w})
		}
	}
	slices.SortFunc(kept, func(a, b Hold) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until)) })
	d.Holds, d.BusyUntil, d.Gap = kept, 0, 0
	free := at
	for _, h := range kept {
		d.Gap = max(d.Gap, h.From-free)
		free = max(free, h.Until)
		d.BusyUntil = max(d.BusyUntil, h.Until)
	}
}
