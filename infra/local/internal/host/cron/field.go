package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// bits is a set of small numbers.
type bits uint64

func (b bits) has(n int) bool { return b&(1<<n) != 0 }

// A kind is one of the six fields.
type kind struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i
}

var kinds = [6]kind{
	{name: "second", min: 0, max: 59},
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"January", "February", "March", "April", "May", "June",
		"July", "August", "September", "October", "November", "December"}},
	{name: "day-of-week", min: 0, max: 6, names: []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}},
}

// parse reads a list of items, each a value, a range or *, with an optional
// step.
func (k kind) parse(text string) (bits, error) {
	var set bits
	for item := range strings.SplitSeq(text, ",") {
		from, to, step, err := k.item(item)
		if err != nil {
			return 0, fmt.Errorf("field %s %q: %w", k.name, text, err)
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

func (k kind) item(text string) (from, to, step int, err error) {
	body, stepText, stepped := strings.Cut(text, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, 0, 0, fmt.Errorf("step %q must be a number above zero", stepText)
		}
	}
	if body == "*" {
		return k.min, k.max, step, nil
	}
	low, high, ranged := strings.Cut(body, "-")
	if from, err = k.value(low); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		if to, err = k.value(high); err != nil {
			return 0, 0, 0, err
		}
	case stepped && step > 1:
		to = k.max
	default:
		to = from
	}
	if from > to {
		from, to = to, from
	}
	return from, to, step, nil
}

// value reads a number or a name; names may be cut to three letters or more.
func (k kind) value(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < k.min || n > k.max {
			return 0, fmt.Errorf("%d is not in %d to %d", n, k.min, k.max)
		}
		return n, nil
	}
	if len(text) >= 3 {
		for i, name := range k.names {
			if len(text) <= len(name) && strings.EqualFold(text, name[:len(text)]) {
				return k.min + i, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not a value", text)
}
