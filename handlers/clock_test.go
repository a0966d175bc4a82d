package main

import (
	"testing"
	"time"
)

func TestClockIsOff(t *testing.T) {
	for _, offset := range []time.Duration{0, 2 * time.Second, -2 * time.Second} {
		before := time.Now()
		got := clock(offset)().Add(-offset)
		if got.Before(before) || got.After(time.Now()) {
			t.Errorf("offset %v: off by %v", offset, got.Sub(before))
		}
	}
}
