package drone

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

func TestPlan(t *testing.T) {
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	const degree = 111.19508023 // km
	tests := []struct {
		name                   string
		scale                  float64
		expedited              bool
		wish                   time.Duration // from now; 0 for none
		depart, pickup, arrive time.Duration
	}{
		{"at once", 1, false, 0, 0, 5 * time.Minute, 5*time.Minute + 6671705*time.Millisecond},
		{"expedited", 1, true, 0, 0, 5 * time.Minute, 5*time.Minute + 4447803*time.Millisecond},
		{"wish in the past", 1, true, -time.Hour, 0, 5 * time.Minute, 5*time.Minute + 4447803*time.Millisecond},
		{"wish too soon", 1, true, time.Minute, 0, 5 * time.Minute, 5*time.Minute + 4447803*time.Millisecond},
		{"wish later", 1, true, time.Hour, 55 * time.Minute, time.Hour, time.Hour + 4447803*time.Millisecond},
		{"scaled", 0.001, true, time.Hour, 3300 * time.Millisecond, 3600 * time.Millisecond, 8047 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Defaults()
			cfg.TimeScale = tt.scale
			ask := Ask{DropOff: value.Location{Latitude: 1}, Expedited: tt.expedited}
			if tt.wish != 0 {
				ask.PickupTime = now.Add(tt.wish)
			}
			f := cfg.plan(ask, now)
			if got := f.DepartAt.Sub(now); got != tt.depart {
				t.Errorf("departs after %v, want %v", got, tt.depart)
			}
			if got := f.PickupAt.Sub(now); got != tt.pickup {
				t.Errorf("picks up after %v, want %v", got, tt.pickup)
			}
			if got := f.ArriveAt.Sub(now); (got - tt.arrive).Abs() > time.Millisecond {
				t.Errorf("arrives after %v, want %v", got, tt.arrive)
			}
			if diff := f.DistanceKm - degree; diff > 1e-3 || diff < -1e-3 {
				t.Errorf("distance %f", f.DistanceKm)
			}
		})
	}
}

// Ensure that a pickup is not early for being far ahead: a float does not hold
// years in nanoseconds.
func TestPlanKeepsAFarPickup(t *testing.T) {
	cfg := Defaults()
	cfg.TimeScale = 1
	wish := time.Date(2030, 1, 2, 9, 0, 0, 0, time.UTC)
	for ns := range 50 {
		now := time.Date(2026, 11, 20, 11, 56, 47, 516_000_001+ns*1_234_567, time.UTC)
		if f := cfg.plan(Ask{PickupTime: wish}, now); !f.PickupAt.Equal(wish) {
			t.Fatalf("assigned at %v: picks up at %v, want %v", now, f.PickupAt, wish)
		}
	}
}

func TestPlanDoesNotOverflow(t *testing.T) {
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	cfg := Defaults()
	cfg.TimeScale, cfg.SpeedKmh = 1e12, 1e-12
	f := cfg.plan(Ask{DropOff: value.Location{Latitude: 90}, PickupTime: now.AddDate(7000, 0, 0)}, now)
	if !f.PickupAt.After(f.DepartAt) || !f.ArriveAt.After(f.PickupAt) || f.ArriveAt.Year() > 2100 {
		t.Errorf("got %+v", f)
	}
}
