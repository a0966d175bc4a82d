package fault

import (
	"fmt"
	"time"
)

// Burst hits a point more often than its rate says, for a time. A single fault
// is made good by the repeats of the SDKs and of the workflow; one that outlasts
// them is not.
type Burst struct {
	Point Point `json:"point"`
	// Scope, if it is not "", is the one of several that is hit: a function of a
	// backend, an instance by its name, or, of a service that is away, a queue, a hub
	// or a database. Points that know no scopes are not hit
	// by a burst that has one.
	Scope string `json:"scope,omitempty"`
	// From and Seconds are when; other processes go by the same clock.
	From    time.Time `json:"from"`
	Seconds float64   `json:"seconds"`
	// Rate is the share of the opportunities that are hit, in place of the point's
	// own where that is lower; of an act that lasts, it says nothing.
	Rate float64 `json:"rate"`
}

// Until is when the burst ends.
func (b Burst) Until() time.Time {
	return b.From.Add(time.Duration(b.Seconds * float64(time.Second)))
}

// The bounds of bursts.
const (
	maxBursts = 200
	maxBurst  = time.Hour
)

func (b Burst) validate() error {
	info, known := Lookup(b.Point)
	switch {
	case !known:
		return fmt.Errorf("burst: there is no fault %q", b.Point)
	case b.Point == BackendUndoRefused:
		return fmt.Errorf("burst: %s is for good, and has no end", b.Point)
	case info.Act && !info.Lasts:
		return fmt.Errorf("burst: %s is done at once, and can't last", b.Point)
	case b.From.IsZero() || !(b.Seconds > 0 && b.Seconds <= maxBurst.Seconds()):
		return fmt.Errorf("burst of %s: from %v for %v s: use a time, and up to %v s", b.Point, b.From, b.Seconds, maxBurst.Seconds())
	case !(b.Rate > 0 && b.Rate <= 1):
		return fmt.Errorf("burst of %s: rate %v is not above 0, up to 1", b.Point, b.Rate)
	}
	return nil
}

// window is a burst as the decisions need it.
type window struct {
	scope       string
	from, until int64 // Unix time in ns
	threshold   uint64
}

// open returns the window of a point and scope that is open now, nil if none
// is: the one that hits most.
func (a *active) open(p Point, scope string, now func() time.Time) *window {
	all := a.windows[p]
	if len(all) == 0 {
		return nil
	}
	var most *window
	at := now().UnixNano()
	for i := range all {
		w := &all[i]
		if at >= w.from && at < w.until && (w.scope == "" || w.scope == scope) && (most == nil || w.threshold > most.threshold) {
			most = w
		}
	}
	return most
}

// Lasts reports until when an act that lasts is to be done to the one that scope
// names, and whether it is to be done now.
func (in *Injector) Lasts(p Point, scope string) (until time.Time, now bool) {
	a := in.active()
	if a == nil {
		return time.Time{}, false
	}
	w := a.open(p, scope, in.now)
	if w == nil {
		return time.Time{}, false
	}
	return time.Unix(0, w.until), true
}
