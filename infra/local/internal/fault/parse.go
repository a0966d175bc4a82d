package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a plan in the form of the command line: words with commas
// between, of which later ones win.
//
//	all                   everything, at its usual rate
//	none                  nothing, whatever came before
//	servicebus            all points of a group
//	servicebus.busy       one point
//	servicebus.busy=0.3   at a rate; of an act, so often a minute
//	backend.away@Packages=1  one function of a backend; also backend@Packages
//	-servicebus.busy      not this point; not this group
//
// An empty spec is none. The error names all words that mean nothing, and what
// there is instead.
func Parse(spec string, seed uint64) (Plan, error) {
	p := Plan{Seed: seed, Rates: map[Point]float64{}}
	var errs []error
	unknown := false
	for word := range strings.SplitSeq(spec, ",") {
		word = strings.TrimSpace(word)
		if word == "" && strings.TrimSpace(spec) == "" {
			continue
		}
		known, err := p.apply(word)
		unknown = unknown || !known
		errs = append(errs, err)
	}
	errs = append(errs, p.Validate())
	if unknown {
		errs = append(errs, errors.New("there is: all, none, "+strings.Join(names(), ", ")))
	}
	if err := errors.Join(errs...); err != nil {
		return Plan{}, fmt.Errorf("faults %q: %w", spec, err)
	}
	return p, nil
}

// apply does what one word says; known is false for a name that is none.
func (p *Plan) apply(word string) (known bool, err error) {
	rest, off := strings.CutPrefix(word, "-")
	name, rate, given := strings.Cut(rest, "=")
	if name == "none" && rest == word && !given {
		clear(p.Rates)
		return true, nil
	}
	name, scope, scoped := strings.Cut(name, "@")
	infos := named(name)
	if len(infos) == 0 {
		return false, fmt.Errorf("there is no fault %q", word)
	}
	if scoped {
		infos = slices.DeleteFunc(infos, func(i Info) bool { return !i.Point.scoped() })
		if len(infos) == 0 || scope == "" {
			return true, fmt.Errorf("%q: name a function, of a fault between the workflow and its backends", word)
		}
	}
	value := 0.0
	switch {
	case off && given:
		return true, fmt.Errorf("%q: what is off has no rate", word)
	case given:
		if value, err = strconv.ParseFloat(rate, 64); err != nil {
			return true, fmt.Errorf("%q: the rate is not a number", word)
		}
	}
	for _, info := range infos {
		switch {
		case off:
			delete(p.Rates, info.Point.Of(scope))
		case given:
			p.Rates[info.Point.Of(scope)] = value
		default:
			p.Rates[info.Point.Of(scope)] = info.Rate
		}
	}
	return true, nil
}

// named returns the points that a word names: all, those of a group, or one.
func named(name string) []Info {
	var infos []Info
	for _, info := range Points {
		if name == "all" || name == string(info.Point) || name == group(info.Point) {
			infos = append(infos, info)
		}
	}
	return infos
}

// group is the part of the runtime that a point belongs to.
func group(p Point) string {
	g, _, _ := strings.Cut(string(p), ".")
	return g
}

// names are the groups, each with its points behind it.
func names() []string {
	var out []string
	for _, info := range Points {
		if g := group(info.Point); !slices.Contains(out, g) {
			out = append(out, g)
		}
		out = append(out, string(info.Point))
	}
	return out
}
