package fault

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Injector makes the decisions. It is safe for concurrent use; a nil Injector
// hits nothing.
type Injector struct {
	instance string                 // of a further one, see NewInstance
	plan     atomic.Pointer[active] // nil until the first Set
	counts   map[Point]*tally       // fixed
	now      func() time.Time       // for bursts
}

// active is a plan in force.
type active struct {
	Plan
	// thresholds are of the points that are to be hit.
	thresholds map[Point]uint64
	windows    map[Point][]window // the bursts
}

// tally counts what happened here, and what other instances have told of.
type tally struct{ asked, hit, othersAsked, othersHit atomic.Uint64 }

// Count is what has happened at a point.
type Count struct {
	Asked uint64 `json:"asked"` // opportunities while the plan had a rate for it
	Hit   uint64 `json:"hit"`
}

// New returns an injector without a plan.
func New() *Injector {
	in := &Injector{counts: make(map[Point]*tally, len(Points)), now: time.Now}
	for _, info := range Points {
		in.counts[info.Point] = new(tally)
	}
	return in
}

// Set puts a plan in force, in place of the one before. The counts go on, and
// with them the decisions: n is not started anew.
func (in *Injector) Set(p Plan) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("fault plan: %w", err)
	}
	next := &active{Plan: p, thresholds: make(map[Point]uint64, len(p.Rates))}
	next.Rates, next.Bursts = maps.Clone(p.Rates), slices.Clone(p.Bursts)
	for point := range p.Rates {
		if threshold := p.threshold(point); threshold > 0 {
			next.thresholds[point] = threshold
		}
	}
	if len(p.Bursts) > 0 {
		next.windows = map[Point][]window{}
	}
	for _, b := range p.Bursts {
		next.windows[b.Point] = append(next.windows[b.Point],
			window{b.Scope, b.From.UnixNano(), b.Until().UnixNano(), uint64(b.Rate * scale)})
	}
	in.plan.Store(next)
	return nil
}

// Plan returns the plan in force.
func (in *Injector) Plan() Plan {
	now := in.active()
	if now == nil {
		return Plan{}
	}
	p := now.Plan
	p.Rates, p.Bursts = maps.Clone(p.Rates), slices.Clone(p.Bursts)
	return p
}

func (in *Injector) active() *active {
	if in == nil {
		return nil
	}
	return in.plan.Load()
}

// Hit reports whether the point is to be hit now.
func (in *Injector) Hit(p Point) bool {
	_, hit := in.Next(p)
	return hit
}

// Next is Hit that also numbers the point's opportunities, from 1, for faults
// that come in several forms. The number is 0 where the plan has no rate.
func (in *Injector) Next(p Point) (n uint64, hit bool) { return in.NextIn(p, "") }

// NextIn is Next for a point of which there are several, of which scope names
// one: rates and bursts may be for that alone.
func (in *Injector) NextIn(p Point, scope string) (n uint64, hit bool) {
	now := in.active()
	if now == nil {
		return 0, false
	}
	return in.next(now, p, scope)
}

func (in *Injector) next(now *active, p Point, scope string) (n uint64, hit bool) {
	threshold := now.thresholds[p]
	if scope != "" {
		threshold = max(threshold, now.thresholds[p.Of(scope)])
	}
	if w := now.open(p, scope, in.now); w != nil {
		threshold = max(threshold, w.threshold)
	}
	if threshold == 0 {
		return 0, false
	}
	count := in.counts[p]
	n = count.asked.Add(1)
	if roll(now.Seed, p, in.instance, n) >= threshold {
		return n, false
	}
	count.hit.Add(1)
	return n, true
}

// HitIn is Hit for a point of which there are several, as in NextIn.
func (in *Injector) HitIn(p Point, scope string) bool {
	_, hit := in.NextIn(p, scope)
	return hit
}

// Wait is WaitIn for a point of which there is one.
func (in *Injector) Wait(p Point) time.Duration { return in.WaitIn(p, "") }

// WaitIn returns how long to wait at a slow point, or until a late call arrives: 0 if
// the point is not hit. scope is as for NextIn.
func (in *Injector) WaitIn(p Point, scope string) time.Duration {
	now := in.active()
	if now == nil {
		return 0
	}
	n, hit := in.next(now, p, scope)
	if !hit {
		return 0
	}
	part := float64(1+roll(now.Seed, p, in.instance+" wait", n)) / scale
	return max(time.Millisecond, time.Duration(part*float64(now.Longest(p))))
}

// HitKey reports whether the point is hit for whatever key names. The answer is
// always the same for a key, as long as the seed and the rate are; a burst has
// other keys than the next, the same from its beginning to its end.
func (in *Injector) HitKey(p Point, key string) bool {
	now := in.active()
	if now == nil {
		return false
	}
	threshold, planned := now.thresholds[p]
	w := now.open(p, "", in.now)
	if !planned && w == nil {
		return false
	}
	count := in.counts[p]
	count.asked.Add(1)
	if roll(now.Seed, p, key, 0) >= threshold && (w == nil || roll(now.Seed, p, key, uint64(w.from)) >= w.threshold) {
		return false
	}
	count.hit.Add(1)
	return true
}

// Done counts an act.
func (in *Injector) Done(p Point) {
	if in == nil {
		return
	}
	count := in.counts[p]
	count.asked.Add(1)
	count.hit.Add(1)
}

// Interval returns the pause before the nth doing of an act, n from 1: around
// the plan's average, between half and one and a half of it. 0 means that it is
// not to be done under this plan.
func (in *Injector) Interval(p Point, n uint64) time.Duration {
	now := in.active()
	if now == nil || now.Rates[p] <= 0 {
		return 0
	}
	mean := float64(time.Minute) / now.Rates[p]
	return time.Duration(mean * (0.5 + float64(roll(now.Seed, p, in.instance+" interval", n))/scale))
}

// Counts returns what has happened at the points that were ever planned, here
// and in the instances that told of it.
func (in *Injector) Counts() map[Point]Count {
	counts := map[Point]Count{}
	if in == nil {
		return counts
	}
	for p, t := range in.counts {
		c := Count{t.asked.Load() + t.othersAsked.Load(), t.hit.Load() + t.othersHit.Load()}
		if c.Asked > 0 {
			counts[p] = c
		}
	}
	return counts
}
