package drone

import (
	"math"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// Ask is what a transaction asks for.
type Ask struct {
	Pickup  value.Location `json:"pickup"`
	DropOff value.Location `json:"dropOff"`
	// PickupTime is the earliest pickup; zero means as soon as possible.
	PickupTime    time.Time     `json:"pickupTime,omitzero"`
	PackageDetail PackageDetail `json:"packageDetail"`
	Expedited     bool          `json:"expedited"`
}

// PackageDetail is what the fleet needs to know of a package.
type PackageDetail struct {
	ID       string  `json:"id"`
	Size     string  `json:"size"`     // one of value.Sizes
	WeightKg float64 `json:"weightKg"` // greater than 0
}

// Flight is a drone's schedule for one delivery, rounded to milliseconds, in UTC.
type Flight struct {
	DroneID    string    `json:"droneId"`
	Zone       string    `json:"zone"` // the drone's, not always the pickup's
	DistanceKm float64   `json:"distanceKm"`
	DepartAt   time.Time `json:"departAt"` // for the pickup
	PickupAt   time.Time `json:"pickupAt"`
	ArriveAt   time.Time `json:"arriveAt"` // at the drop-off; the drone is free again
}

// plan makes the schedule of a flight that is assigned at now: the drone leaves
// in time for the wished pickup, or at once.
func (c Config) plan(ask Ask, now time.Time) Flight {
	speed := c.SpeedKmh
	if ask.Expedited {
		speed = c.ExpeditedSpeedKmh
	}
	f := Flight{DistanceKm: value.DistanceKm(ask.Pickup, ask.DropOff)}
	wait := time.Duration(0)
	if !ask.PickupTime.IsZero() {
		wait = max(0, ask.PickupTime.Sub(now)-c.Approach)
	}
	f.DepartAt = now.Add(c.scaled(wait)).UTC().Round(time.Millisecond)
	f.PickupAt = f.DepartAt.Add(c.scaled(c.Approach)).Round(time.Millisecond)
	hours := f.DistanceKm / speed
	f.ArriveAt = f.PickupAt.Add(c.scaled(hoursOf(hours))).Round(time.Millisecond)
	return f
}

// longest bounds every part of a schedule, so that no setting overflows it.
const longest = 10 * 365 * 24 * time.Hour

func (c Config) scaled(d time.Duration) time.Duration {
	return time.Duration(math.Min(float64(d)*c.TimeScale, float64(longest)))
}

func hoursOf(hours float64) time.Duration {
	return time.Duration(math.Min(hours*float64(time.Hour), float64(longest)))
}
