package timespan

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want time.Duration
	}{
		{"00:00:30", 30 * time.Second},
		{"00:05:00", 5 * time.Minute},
		{"1:2:3", time.Hour + 2*time.Minute + 3*time.Second},
		{"10:30", 10*time.Hour + 30*time.Minute},
		{"00:00:00.80", 800 * time.Millisecond},
		{"-00:00:00.0010000", -time.Millisecond},
		{"1.12:00:00", 36 * time.Hour},
		{"1.12:00:00.0000001", 36*time.Hour + 100*time.Nanosecond},
		{"2:01:00:00", 49 * time.Hour},
		{"6", 6 * day},
		{"24:00:00", 24 * day},
		{" 00:00:01 ", time.Second},
	} {
		got, err := Parse(tc.in)
		if err != nil || got != tc.want {
			t.Errorf("Parse(%q) = %v, %v; want %v", tc.in, got, err, tc.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{"", "abc", "00:60:00", "00:00:60", "1.24:00:00", "25:61:00", "00:00:00.12345678", "5m", "1:2:3:4:5", "00:00:"} {
		if got, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"00:05:00", "-1.02:03:04.5", "24:00:00", "7", "1:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		d, err := Parse(in)
		if err != nil {
			return
		}
		again, err := Parse(Format(d))
		if err != nil || again != d {
			t.Fatalf("Parse(%q) = %v, but Parse(Format) = %v, %v", in, d, again, err)
		}
	})
}
