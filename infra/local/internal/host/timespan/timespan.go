// Package timespan reads the durations of host.json and function.json, which
// are written as .NET TimeSpan strings.
//
// Source: Microsoft Learn, "TimeSpan.Parse" (form [-]{d | [d.]hh:mm[:ss[.ff]]}).
package timespan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// maxDays keeps every result inside a time.Duration, which ends after 292 years.
const maxDays = 106_000

var form = regexp.MustCompile(`^(-?)(?:(\d{1,8})|(?:(\d{1,8})[.:])??(\d{1,8}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?)$`)

// Parse reads a TimeSpan such as "00:05:00" or "1.12:00:00.5". A lone number
// is days. As in .NET, three groups whose first is above 23 are read as
// days:hours:minutes, so "24:00:00" is 24 days.
func Parse(s string) (time.Duration, error) {
	m := form.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("timespan %q: want [-][d.]hh:mm:ss[.fffffff]", s)
	}
	days, hours, minutes, seconds := number(m[2])+number(m[3]), number(m[4]), number(m[5]), number(m[6])
	if m[3] == "" && m[6] != "" && m[7] == "" && hours > 23 {
		days, hours, minutes, seconds = hours, minutes, seconds, 0
	}
	if days > maxDays || hours > 23 || minutes > 59 || seconds > 59 {
		return 0, fmt.Errorf("timespan %q: a component is out of range", s)
	}
	d := time.Duration(days)*day + time.Duration(hours)*time.Hour +
		time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	if m[7] != "" {
		ticks := number(m[7] + strings.Repeat("0", 7-len(m[7])))
		d += time.Duration(ticks) * 100 * time.Nanosecond
	}
	if m[1] == "-" {
		d = -d
	}
	return d, nil
}

// Format writes d in the constant form of .NET: [-][d.]hh:mm:ss[.fffffff].
func Format(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	text := fmt.Sprintf("%02d:%02d:%02d", d%day/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
	if d >= day {
		text = fmt.Sprintf("%d.%s", d/day, text)
	}
	if ticks := d % time.Second / 100; ticks > 0 {
		text += fmt.Sprintf(".%07d", ticks)
	}
	return sign + text
}

// number reads at most eight digits, which the pattern has checked; no digits
// are zero.
func number(digits string) int {
	if digits == "" {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return maxDays + 1
	}
	return n
}
