package drone

import (
	"cmp"
	"errors"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
)

// Config is the fleet.
type Config struct {
	// Drones is the size of the fleet, spread evenly over the zones. Drones are
	// created, never removed: a smaller number leaves the others in use.
	Drones int
	// Zones is the number of zones. To change it moves pickups to other zones,
	// not drones.
	Zones int
	// CapacityKg is the heaviest package that a drone carries.
	CapacityKg float64
	// SpeedKmh and ExpeditedSpeedKmh are the speeds of a flight.
	SpeedKmh          float64
	ExpeditedSpeedKmh float64
	// Approach is how long a drone takes to the pickup.
	Approach time.Duration
	// TimeScale multiplies all that a delivery waits and flies: 1 is real time,
	// a small number lets a demonstration see drones arrive.
	TimeScale float64
	Retention time.Duration // of tombstones; 0 means record.DefaultRetention
}

// Defaults are the settings if nothing else is said.
func Defaults() Config {
	return Config{
		Drones: 1000, Zones: 10, CapacityKg: 20, SpeedKmh: 60, ExpeditedSpeedKmh: 90,
		Approach: 5 * time.Minute, TimeScale: 1, Retention: record.DefaultRetention,
	}
}

// Validate returns all that is wrong with the settings.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, text string) {
		if !ok {
			errs = append(errs, errors.New(text))
		}
	}
	check(c.Zones >= 1 && c.Zones <= 1000, "zones must be from 1 to 1000")
	check(c.Drones >= c.Zones, "there must be at least one drone for each zone")
	check(c.CapacityKg > 0, "capacity must be greater than 0")
	check(c.SpeedKmh > 0 && c.ExpeditedSpeedKmh > 0, "speeds must be greater than 0")
	check(c.Approach >= 0, "approach must not be negative")
	check(c.TimeScale > 0, "time scale must be greater than 0")
	check(c.Retention >= 0, "retention must not be negative")
	return errors.Join(errs...)
}

func (c Config) retention() time.Duration { return cmp.Or(c.Retention, record.DefaultRetention) }
