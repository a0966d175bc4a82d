// Package simulate follows requests through a system of shards over time: what is
// accepted, what waits where, how many instances that takes, and what it costs. It is
// arithmetic over the limits of limits.go, the same each time, and calls nothing.
//
// Not simulated: latencies, clients that repeat, faults, and what a container holds.
package simulate

import (
	"math"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// Lane is one of the things that a request passes, in units.
type Lane struct {
	Name        string
	Each        float64 // requests a second that a unit carries
	Least, Most int     // units, of each shard or, if Shared, of all together
	// Starts is how long a further unit takes to work; Keeps, how long one stays, and is
	// paid, when it is no longer needed. Without both the lane has Most units.
	Starts, Keeps time.Duration
	Shared        bool
	USD           float64 // for a unit and an hour
}

// Stage are lanes that a request passes together: the narrowest decides. What it doesn't
// carry waits, at the first stage is refused.
type Stage []Lane

// System is what requests pass.
type System struct {
	Shards int
	Stages []Stage
	// OneMachine says that the stages share their processors: what one uses, those behind
	// it lack.
	OneMachine bool
}

// Point is a step of time. Rates are a second.
type Point struct {
	At                           time.Duration // its beginning
	Offered, Accepted, Completed float64
	Waiting                      []float64      // in front of each stage but the first, at its end
	Units                        map[string]int // of all shards, by lane
	Narrow                       []string       // the narrowest lane of each stage that let something wait, or refused it
	USD                          float64
}

// catchUp is in what time a lane is to work off what waits: it sets how many units are
// wanted.
const catchUp = time.Minute

// Run offers a shape, in steps, until nothing waits, or for a time after its end.
func Run(s System, shape load.Shape, step, after time.Duration) []Point {
	var points []Point
	lanes := make(map[string]*scale)
	waiting := make([]float64, len(s.Stages)-1)
	for at := time.Duration(0); at < shape.Duration() || at < shape.Duration()+after && !empty(waiting); at += step {
		p := Point{At: at, Offered: rate(shape, at+step/2), Units: map[string]int{}}
		flow, busy := p.Offered, 0.0
		for i, stage := range s.Stages {
			due := flow // a second, if what waits is to be carried in this step
			wanted := flow
			if i > 0 {
				due += waiting[i-1] / step.Seconds()
				wanted += waiting[i-1] / catchUp.Seconds()
			}
			most, narrow := s.width(stage, wanted, step, lanes, &p)
			free := most
			if s.OneMachine {
				free *= max(0, 1-busy)
			}
			carried := min(due, free)
			if carried < flow {
				p.Narrow = append(p.Narrow, narrow)
			}
			if i == 0 {
				p.Accepted = carried
			} else {
				waiting[i-1] = (due - carried) * step.Seconds()
			}
			busy += carried / most
			flow = carried
		}
		p.Completed, p.Waiting = flow, append([]float64(nil), waiting...)
		points = append(points, p)
	}
	return points
}

// width returns what a stage carries a second, and its narrowest lane.
func (s System) width(stage Stage, wanted float64, step time.Duration, lanes map[string]*scale, p *Point) (least float64, narrow string) {
	least = math.Inf(1)
	for _, l := range stage {
		of := s.Shards
		if l.Shared {
			of = 1
		}
		if lanes[l.Name] == nil {
			lanes[l.Name] = &scale{}
		}
		units := of * lanes[l.Name].units(l, int(math.Ceil(wanted/l.Each/float64(of))), step)
		p.Units[l.Name] = units
		p.USD += float64(units) * l.USD * step.Hours()
		if carries := float64(units) * l.Each; carries < least {
			least, narrow = carries, l.Name
		}
	}
	return least, narrow
}

// scale is how many units of a lane were wanted in each step.
type scale struct{ wanted []int }

// units returns how many work: as many as were wanted at most between the time that one
// takes to start and the time that one stays.
func (s *scale) units(l Lane, wanted int, step time.Duration) int {
	if l.Starts == 0 && l.Keeps == 0 {
		return l.Most
	}
	s.wanted = append(s.wanted, min(max(wanted, l.Least), l.Most))
	last := len(s.wanted) - 1 - int(l.Starts/step)
	units := l.Least
	for i := max(0, last-int(l.Keeps/step)); i <= last; i++ {
		units = max(units, s.wanted[i])
	}
	return units
}

// rate is what a shape offers at a time.
func rate(shape load.Shape, at time.Duration) float64 {
	for _, stage := range shape {
		if at < stage.For {
			return stage.From + (stage.To-stage.From)*at.Seconds()/stage.For.Seconds()
		}
		at -= stage.For
	}
	return 0
}

// empty reports whether less than a request waits.
func empty(waiting []float64) bool {
	all := 0.0
	for _, n := range waiting {
		all += n
	}
	return all < 1
}
