package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Shape is how many requests are offered over time: stages, one after the other.
type Shape []Stage

// Stage is a rate, in requests a second, that goes evenly from one value to
// another.
type Stage struct {
	From, To float64
	For      time.Duration
}

// The limits of a stage.
const (
	maxRate = 1e6
	maxTime = 24 * time.Hour
)

// ParseShape reads stages with commas between them: 200:10s is a step, 200-1000:30s
// a ramp. A spike is a short step between two others.
func ParseShape(text string) (Shape, error) {
	var s Shape
	for stage := range strings.SplitSeq(text, ",") {
		parsed, err := parseStage(strings.TrimSpace(stage))
		if err != nil {
			return nil, fmt.Errorf("%q: %w; a stage is RATE:TIME or FROM-TO:TIME, such as 200:10s or 200-1000:30s", stage, err)
		}
		s = append(s, parsed)
	}
	if s.Duration() > maxTime {
		return nil, fmt.Errorf("%q: at most %v together", text, maxTime)
	}
	return s, nil
}

func parseStage(text string) (Stage, error) {
	rates, lasts, ok := strings.Cut(text, ":")
	if !ok {
		return Stage{}, errors.New("the time is missing")
	}
	from, to, ramp := strings.Cut(rates, "-")
	if !ramp {
		to = from
	}
	var s Stage
	var err error
	if s.For, err = time.ParseDuration(lasts); err != nil || s.For <= 0 || s.For > maxTime {
		return s, fmt.Errorf("%q is not a time up to %v", lasts, maxTime)
	}
	for _, rate := range []struct {
		text string
		is   *float64
	}{{from, &s.From}, {to, &s.To}} {
		if *rate.is, err = strconv.ParseFloat(rate.text, 64); err != nil || !(*rate.is >= 0 && *rate.is <= maxRate) {
			return s, fmt.Errorf("%q is not a rate from 0 to %.0f a second", rate.text, maxRate)
		}
	}
	return s, nil
}

// Duration returns how long all stages take.
func (s Shape) Duration() time.Duration {
	var all time.Duration
	for _, stage := range s {
		all += stage.For
	}
	return all
}

// count is how many requests are due in a stage, as a fraction.
func (s Stage) count() float64 { return (s.From + s.To) / 2 * s.For.Seconds() }

// Count returns how many requests are due in all stages.
func (s Shape) Count() int {
	var all float64
	for _, stage := range s {
		all += stage.count()
	}
	return int(math.Round(all))
}

// At returns when the nth request is due, counted from 0; the end for those that
// never are. The requests are spread evenly, as the rate says.
func (s Shape) At(n int) time.Duration {
	var before time.Duration
	left := float64(n)
	for _, stage := range s {
		if left < stage.count() {
			return before + stage.at(left)
		}
		left -= stage.count()
		before += stage.For
	}
	return before
}

// at returns when so many requests of the stage have been due. Their number is the
// integral of the rate, From·t + slope·t²/2, which is solved for t in the form
// that stays exact when the slope is small.
func (s Stage) at(n float64) time.Duration {
	slope := (s.To - s.From) / s.For.Seconds()
	root := math.Sqrt(max(0, s.From*s.From+2*slope*n))
	if n == 0 || s.From+root == 0 {
		return 0
	}
	return time.Duration(2 * n / (s.From + root) * float64(time.Second))
}
