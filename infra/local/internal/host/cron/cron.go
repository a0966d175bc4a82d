// Package cron reads the schedules of timer triggers: NCRONTAB expressions of
// six fields ({second} {minute} {hour} {day} {month} {day-of-week}; five
// fields mean second 0) and TimeSpan intervals.
//
// Sources: Microsoft Learn, "Timer trigger for Azure Functions" (NCRONTAB
// expressions); the NCrontab library's rules: a date must match the day and
// the day-of-week (both, unlike Unix cron), "a/n" means a to the end in steps
// of n, and a range written backwards is turned round.
package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/timespan"
)

// A Schedule tells when a timer is due.
type Schedule interface {
	// Next is the first occurrence after t, in t's location. The zero time
	// means that there is none.
	Next(t time.Time) time.Time
	// AdjustForDST reports whether occurrences follow the wall clock: true
	// for NCRONTAB, false for an interval.
	AdjustForDST() bool
}

// Parse reads an NCRONTAB expression or a TimeSpan above zero.
func Parse(text string) (Schedule, error) {
	fields := strings.Fields(text)
	switch len(fields) {
	case 1:
		d, err := timespan.Parse(fields[0])
		if err != nil {
			return nil, fmt.Errorf("schedule %q is neither an NCRONTAB expression nor a time span: %w", text, err)
		}
		if d <= 0 {
			return nil, fmt.Errorf("schedule %q: the interval must be above zero", text)
		}
		return interval(d), nil
	case 5:
		fields = append([]string{"0"}, fields...)
	case 6:
	default:
		return nil, fmt.Errorf("schedule %q: want six NCRONTAB fields ({second} {minute} {hour} {day} {month} {day-of-week}) or a time span", text)
	}
	var e expression
	for i, kind := range kinds {
		set, err := kind.parse(fields[i])
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", text, err)
		}
		e[i] = set
	}
	return e, nil
}

type interval time.Duration

func (i interval) Next(t time.Time) time.Time { return t.Add(time.Duration(i)) }
func (i interval) AdjustForDST() bool         { return false }

// An expression holds the allowed values of each field.
type expression [6]bits

// horizon bounds the search: 29 February on a given weekday comes back within
// 40 years.
const horizon = 41 * 366

func (e expression) AdjustForDST() bool { return true }

func (e expression) Next(t time.Time) time.Time {
	start := t.Truncate(time.Second).Add(time.Second)
	y, m, d := start.Date()
	for n := range horizon {
		date := time.Date(y, m, d+n, 0, 0, 0, 0, t.Location())
		if !e[3].has(date.Day()) || !e[4].has(int(date.Month())) || !e[5].has(int(date.Weekday())) {
			continue
		}
		from := 0
		if n == 0 {
			from = start.Hour()*3600 + start.Minute()*60 + start.Second()
		}
		if at, ok := e.nextInDay(date, from, start); ok {
			return at
		}
	}
	return time.Time{}
}

// nextInDay looks for the first allowed wall-clock time of date from the given
// second of the day on. A wall-clock time that the zone skips or repeats may
// give an instant before start, which is passed over.
func (e expression) nextInDay(date time.Time, from int, start time.Time) (time.Time, bool) {
	for h := from / 3600; h < 24; h++ {
		if !e[2].has(h) {
			continue
		}
		for m := range 60 {
			if !e[1].has(m) || h*3600+m*60+59 < from {
				continue
			}
			for s := range 60 {
				if !e[0].has(s) || h*3600+m*60+s < from {
					continue
				}
				at := time.Date(date.Year(), date.Month(), date.Day(), h, m, s, 0, date.Location())
				if !at.Before(start) {
					return at, true
				}
			}
		}
	}
	return time.Time{}, false
}
