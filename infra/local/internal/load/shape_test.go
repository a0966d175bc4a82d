package load

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseShape(t *testing.T) {
	got, err := ParseShape("200:10s, 200-1000:1m,0:500ms")
	want := Shape{{200, 200, 10 * time.Second}, {200, 1000, time.Minute}, {0, 0, 500 * time.Millisecond}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got.Duration() != 70500*time.Millisecond || got.Count() != 2000+36000 {
		t.Errorf("%v, %d requests", got.Duration(), got.Count())
	}
	for text, want := range map[string]string{
		"": "the time is missing", "200": "the time is missing", "200:": `"" is not a time`, "200:-1s": `"-1s" is not a time`,
		"-5:1s": `"" is not a rate`, "5-:1s": `"" is not a rate`, "NaN:1s": `"NaN" is not a rate`, "2000000:1s": "is not a rate from 0 to 1000000",
		"1:20h,1:20h": "at most 24h0m0s together", "1:1s,,1:1s": "the time is missing",
	} {
		if _, err := ParseShape(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAt(t *testing.T) {
	s := Shape{{10, 10, time.Second}, {0, 20, 2 * time.Second}, {0, 0, time.Second}, {20, 0, time.Second}}
	for n, want := range map[int]time.Duration{
		0: 0, 1: 100 * time.Millisecond, 9: 900 * time.Millisecond, // the step
		10: time.Second, 15: 2 * time.Second, // the ramp up: a quarter is due in its first half
		30: 4 * time.Second, // after the pause
		40: 5 * time.Second, 1000: 5 * time.Second,
	} {
		if got := s.At(n); (got - want).Abs() > time.Microsecond {
			t.Errorf("%d is due at %v, want %v", n, got, want)
		}
	}
}

// Ensure that the requests of any shape are due in their order, and as many of
// them in each part of a stage as the rate says.
func TestAtFollowsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0, 500)
		stage := rapid.Custom(func(t *rapid.T) Stage {
			return Stage{rate.Draw(t, "from"), rate.Draw(t, "to"), time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond}
		})
		s := Shape(rapid.SliceOfN(stage, 1, 4).Draw(t, "shape"))
		half := make([]int, 2*len(s)) // how many are due in the halves of the stages
		last := time.Duration(0)
		for n := range s.Count() {
			at := s.At(n)
			if at < last || at > s.Duration() {
				t.Fatalf("%d is due at %v, the one before at %v, the end at %v", n, at, last, s.Duration())
			}
			last = at
			begun := time.Duration(0)
			for i, stage := range s {
				if end := begun + stage.For; at < end || i == len(s)-1 {
					half[2*i+int(min(1, 2*(at-begun)/stage.For))]++
					break
				}
				begun += stage.For
			}
		}
		for i, stage := range s {
			middle := (stage.From + stage.To) / 2
			for h, want := range []float64{(stage.From + middle) / 4 * stage.For.Seconds(), (middle + stage.To) / 4 * stage.For.Seconds()} {
				if got := float64(half[2*i+h]); got < want-2 || got > want+2 {
					t.Fatalf("stage %d, half %d: %v requests are due, want %.1f", i, h, got, want)
				}
			}
		}
	})
}
