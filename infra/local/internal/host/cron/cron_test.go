package cron

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	for _, tc := range []struct{ schedule, from, want string }{
		{"*/30 * * * * *", "2026-01-01 00:00:00", "2026-01-01 00:00:30"},
		{"*/30 * * * * *", "2026-01-01 00:00:30", "2026-01-01 00:01:00"},
		{"0 */5 * * * *", "2026-01-01 10:03:12", "2026-01-01 10:05:00"},
		{"0 0 * * * *", "2026-01-01 10:00:00", "2026-01-01 11:00:00"},
		{"0 0 */2 * * *", "2026-01-01 22:30:00", "2026-01-02 00:00:00"},
		{"0 0 9-17 * * *", "2026-01-01 17:00:00", "2026-01-02 09:00:00"},
		{"0 0 17-9 * * *", "2026-01-01 17:00:00", "2026-01-02 09:00:00"},
		{"0 30 9 * * 1-5", "2026-01-02 09:30:00", "2026-01-05 09:30:00"},
		{"0 30 9 * Jan Mon", "2026-01-26 09:30:00", "2027-01-04 09:30:00"},
		{"0 30 9 * january monday", "2026-01-01 00:00:00", "2026-01-05 09:30:00"},
		{"5/20 * * * * *", "2026-01-01 00:00:05", "2026-01-01 00:00:25"},
		{"5/20 * * * * *", "2026-01-01 00:00:45", "2026-01-01 00:01:05"},
		{"5/1 * * * * *", "2026-01-01 00:00:05", "2026-01-01 00:01:05"},
		{"1,2,58-59 * * * * *", "2026-01-01 00:00:02", "2026-01-01 00:00:58"},
		{"0 0 0 13 * Fri", "2026-03-14 00:00:00", "2026-11-13 00:00:00"},
		{"0 0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"},
		{"0 0 0 31 * *", "2026-01-31 00:00:00", "2026-03-31 00:00:00"},
		{"*/5 * * * *", "2026-01-01 00:00:01", "2026-01-01 00:05:00"},
		{"59 59 23 31 12 *", "2026-12-31 23:59:58", "2026-12-31 23:59:59"},
		{"00:00:30", "2026-01-01 00:00:07", "2026-01-01 00:00:37"},
		{"24:00:00", "2026-01-01 00:00:00", "2026-01-25 00:00:00"},
	} {
		s, err := Parse(tc.schedule)
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.schedule, err)
			continue
		}
		if got := s.Next(at(t, tc.from)); !got.Equal(at(t, tc.want)) {
			t.Errorf("%q after %s: %s, want %s", tc.schedule, tc.from, got.Format("2006-01-02 15:04:05"), tc.want)
		}
	}
}

func TestNextNever(t *testing.T) {
	s, err := Parse("0 0 0 31 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Next(at(t, "2026-01-01 00:00:00")); !got.IsZero() {
		t.Errorf("30 February came at %s", got)
	}
}

func TestNextFollowsTheWallClock(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("0 0 9 * * *")
	if err != nil {
		t.Fatal(err)
	}
	// The clocks go forward on 29 March 2026: the day has 23 hours.
	first := time.Date(2026, 3, 28, 9, 0, 0, 0, zone)
	if got := s.Next(first).Sub(first); got != 23*time.Hour {
		t.Errorf("next is after %s, want 23h", got)
	}
	if !s.AdjustForDST() || interval(1).AdjustForDST() {
		t.Error("AdjustForDST: want true for NCRONTAB, false for an interval")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "* * * *", "* * * * * * *", "60 * * * * *", "* * 24 * * *", "* * * 0 * *",
		"* * * * 13 *", "* * * * * 7", "*/0 * * * * *", "a * * * * *", "* * * * Ja *", "1- * * * * *", ", * * * * *", "00:00:00", "-00:00:01"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("Parse(%q): want an error", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*/30 * * * * *", "0 30 9 * Jan Mon", "00:00:30", "1-5,7/2 * * * *"} {
		f.Add(seed)
	}
	from := time.Date(2026, 10, 12, 1, 2, 3, 4, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if next := s.Next(from); !next.IsZero() && !next.After(from) {
			t.Fatalf("%q: %s is not after %s", text, next, from)
		}
	})
}
