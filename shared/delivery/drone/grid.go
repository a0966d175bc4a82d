package drone

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// cellDegrees is the size of the grid's cells: about 11 km from south to north.
const cellDegrees = 0.1

// zoneName returns the name of a zone by its number, from 0.
func zoneName(number int) string { return fmt.Sprintf("zone-%03d", number) }

// zoneOf returns the zone of a location: that of its cell in a grid over the
// earth. It depends on nothing but the location and the number of zones.
func (c Config) zoneOf(at value.Location) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%d", int(math.Floor(at.Latitude/cellDegrees)), int(math.Floor(at.Longitude/cellDegrees)))
	return zoneName(int(h.Sum32() % uint32(c.Zones)))
}

// zonesFrom returns all zones: first, and the others in the order of their
// numbers behind it.
func (c Config) zonesFrom(first string) []string {
	zones := make([]string, 0, c.Zones)
	start := 0
	for n := range c.Zones {
		if zoneName(n) == first {
			start = n
		}
	}
	for n := range c.Zones {
		zones = append(zones, zoneName((start+n)%c.Zones))
	}
	return zones
}

// dronesOf returns the ids of a zone's drones.
func (c Config) dronesOf(zone string) []string {
	var ids []string
	for n := range c.Drones {
		if zoneName(n%c.Zones) == zone {
			ids = append(ids, droneID(zone, n/c.Zones))
		}
	}
	return ids
}

// droneID returns the id of a zone's drone by its number, from 0.
func droneID(zone string, number int) string { return fmt.Sprintf("%s-%05d", zone, number) }

// perZone is how many drones a zone has; some have one more.
func (c Config) perZone() int { return c.Drones / c.Zones }

// zoneOfDrone returns the zone that a drone's id names, "" if it names none.
func zoneOfDrone(id string) string { return id[:max(0, strings.LastIndexByte(id, '-'))] }
