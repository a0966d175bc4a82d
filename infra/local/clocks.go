package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// clocks is how far the clock of each instance is off.
type clocks []time.Duration

// clockSetting is the app's setting, in seconds.
const clockSetting = "CLOCK_OFFSET_SECONDS"

// String implements [flag.Value].
func (c *clocks) String() string {
	var all []string
	for _, off := range *c {
		all = append(all, off.String())
	}
	return strings.Join(all, ",")
}

// Set implements [flag.Value].
func (c *clocks) Set(text string) error {
	*c = nil
	for word := range strings.SplitSeq(text, ",") {
		off, err := time.ParseDuration(word)
		if err != nil {
			return fmt.Errorf("%q is not a duration", word)
		}
		*c = append(*c, off)
	}
	return nil
}

// in returns the settings of the nth instance, from 1.
func (c clocks) in(settings map[string]string, n int) map[string]string {
	all := map[string]string{}
	maps.Copy(all, settings)
	delete(all, clockSetting) // another instance's
	if n <= len(c) && c[n-1] != 0 {
		all[clockSetting] = strconv.FormatFloat(c[n-1].Seconds(), 'f', -1, 64)
	}
	return all
}
