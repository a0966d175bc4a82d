package delivery

import (
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// The settings.
const (
	fleetDrones     = "FLEET_DRONES"
	fleetZones      = "FLEET_ZONES"
	fleetSpeed      = "FLEET_SPEED_KMH"
	fleetCapacity   = "FLEET_CAPACITY_KG"
	flightTimeScale = "FLIGHT_TIME_SCALE"
	pickupHorizon   = "PICKUP_HORIZON_DAYS"
	carrierDistance = "CARRIER_DISTANCE_KM"
)

func settings() []business.Setting {
	return []business.Setting{
		{Name: fleetDrones, Kind: business.Whole, Default: "1000", Min: 1, Max: 1_000_000, Text: "drones of the fleet"},
		{Name: fleetZones, Kind: business.Whole, Default: "10", Min: 1, Max: 1000, Text: "zones of the fleet"},
		{Name: fleetSpeed, Kind: business.Decimal, Default: "60", Min: 1, Max: 1000, Text: "speed of a drone in km/h"},
		{Name: fleetCapacity, Kind: business.Decimal, Default: "20", Min: 0.1, Max: 10_000, Text: "what a drone carries, in kg"},
		{Name: flightTimeScale, Kind: business.Decimal, Default: "1", Min: 0.000_001, Max: 10,
			Text: "multiplies the time of every flight; 0.001 makes a demo quick"},
		{Name: pickupHorizon, Kind: business.Span, Unit: 24 * time.Hour, Default: "30", Min: 1, Max: 365,
			Text: "how far ahead a request's pickupTime may be; a lower value does not affect accepted requests"},
		{Name: carrierDistance, Kind: business.Decimal, Default: "40", Min: 0, Max: 40_000,
			Text: "distance in km above which a third-party carrier is needed"},
	}
}

func rules(v business.Values) []business.Rule {
	zones, drones := v.Whole(fleetZones), v.Whole(fleetDrones)
	return []business.Rule{{
		Names: []string{fleetZones, fleetDrones},
		Text:  fmt.Sprintf("%s (%d) must not be more than %s (%d): every zone has a drone", fleetZones, zones, fleetDrones, drones),
		Holds: zones <= drones,
	}}
}
