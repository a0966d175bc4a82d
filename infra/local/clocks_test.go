package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClocks(t *testing.T) {
	var c clocks
	if err := c.Set("2s,-1.5s,0s"); err != nil || c.String() != "2s,-1.5s,0s" {
		t.Fatalf("%v, %v", c.String(), err)
	}
	if err := new(clocks).Set("2s,soon"); err == nil {
		t.Error("\"soon\" is taken for a duration")
	}
	for n, want := range map[int]map[string]string{
		1: {"A": "1", clockSetting: "2"}, 2: {"A": "1", clockSetting: "-1.5"}, 3: {"A": "1"}, 4: {"A": "1"},
	} {
		if diff := cmp.Diff(want, c.in(map[string]string{"A": "1", clockSetting: "9"}, n)); diff != "" {
			t.Errorf("instance %d: %s", n, diff)
		}
	}
}
