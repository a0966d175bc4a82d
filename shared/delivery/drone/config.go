package drone

import (
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
	Retention time.Duration // of tombstones
}

// Defaults are the settings if nothing else is said.
func Defaults() Config {
	return Config{
		Drones: 1000, Zones: 10, CapacityKg: 20, SpeedKmh: 60, ExpeditedSpeedKmh: 90,
		Approach: 5 * time.Minute, TimeScale: 1, Retention: record.DefaultRetention,
	}
}
