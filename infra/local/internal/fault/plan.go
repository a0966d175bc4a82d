package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Plan says how often each point is hit. The zero value hits nothing.
type Plan struct {
	// Seed is what all decisions are derived from.
	Seed uint64 `json:"seed"`
	// Rates are, by point, the share of its opportunities that are hit, from 0
	// to 1; of an act, how often it is done in a minute on average, up to 600. One
	// of a backend may name a function: backend.away@Packages. Its rate holds there
	// if it is the higher one.
	Rates map[Point]float64 `json:"rates"`
	// SlowSeconds is the longest time that a slow point waits; 0 means 2 s. A late
	// call arrives LateFactor times as late at the latest.
	SlowSeconds float64 `json:"slowSeconds,omitempty"`
	// Bursts are on top of the rates.
	Bursts []Burst `json:"bursts,omitempty"`
}

const (
	defaultSlow = 2 * time.Second
	maxSlow     = 10 * time.Minute
	maxActs     = 600
)

// Validate returns an error that names everything that is wrong with the plan.
func (p Plan) Validate() error {
	var errs []error
	for _, point := range slices.Sorted(maps.Keys(p.Rates)) {
		rate := p.Rates[point]
		info, known := Lookup(point)
		_, scope := point.cut()
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("there is no fault %q", point))
		case strings.Contains(string(point), "@") && (scope == "" || !info.Point.scoped()):
			errs = append(errs, fmt.Errorf("%s: name a function, of a fault between the workflow and its backends", point))
		case info.Lasts && rate != 0:
			errs = append(errs, fmt.Errorf("%s: it lasts, and comes in bursts alone", point))
		case info.Act && !(rate >= 0 && rate <= maxActs):
			errs = append(errs, fmt.Errorf("%s: %v a minute is not from 0 to %d", point, rate, maxActs))
		case !info.Act && !(rate >= 0 && rate <= 1):
			errs = append(errs, fmt.Errorf("%s: rate %v is not from 0 to 1", point, rate))
		}
	}
	if !(p.SlowSeconds >= 0 && p.SlowSeconds <= maxSlow.Seconds()) {
		errs = append(errs, fmt.Errorf("slowSeconds: %v is not from 0 to %v", p.SlowSeconds, maxSlow.Seconds()))
	}
	if len(p.Bursts) > maxBursts {
		errs = append(errs, fmt.Errorf("%d bursts: use up to %d", len(p.Bursts), maxBursts))
	}
	for _, b := range p.Bursts {
		errs = append(errs, b.validate())
	}
	return errors.Join(errs...)
}

// Fits returns an error that names the functions of the plan that are not among the
// backends' own.
func (p Plan) Fits(functions []string) error {
	var errs []error
	check := func(point Point, scope string) {
		if scope != "" && point.scoped() && !slices.Contains(functions, scope) {
			errs = append(errs, fmt.Errorf("%s: there is no backend %q, but %s", point, scope, strings.Join(functions, ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Rates)) {
		check(name.cut())
	}
	for _, b := range p.Bursts {
		check(b.Point, b.Scope)
	}
	return errors.Join(errs...)
}

// Empty reports whether the plan does nothing.
func (p Plan) Empty() bool { return len(p.Rates) == 0 && len(p.Bursts) == 0 }

// All returns the plan that hits everything at its usual rate.
func All(seed uint64) Plan {
	p := Plan{Seed: seed, Rates: map[Point]float64{}}
	for _, info := range Points {
		p.Rates[info.Point] = info.Rate
	}
	return p
}

// LateFactor is how much longer than a slow call a late one takes at most: so
// long that a workflow whose retries have failed, or whose client has changed his
// mind, has undone by then what the call was to do.
const LateFactor = 8

// Longest is the longest time that a point waits.
func (p Plan) Longest(point Point) time.Duration {
	slow := defaultSlow
	if p.SlowSeconds != 0 {
		slow = time.Duration(p.SlowSeconds * float64(time.Second))
	}
	if point == BackendLate {
		return LateFactor * slow
	}
	return slow
}

// threshold is what a roll for a point must be below for the point to be hit.
func (p Plan) threshold(point Point) uint64 {
	if info, known := Lookup(point); !known || info.Act {
		return 0
	}
	return uint64(p.Rates[point] * scale)
}

// Chosen reports what HitKey answers for a key while a valid plan is in force,
// for who judges a run afterwards.
func Chosen(p Plan, point Point, key string) bool {
	return roll(p.Seed, point, key, 0) < p.threshold(point)
}
