package value

import (
	"math"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Location is a place on or above the earth (WGS 84).
type Location struct {
	Latitude  float64 `json:"latitude"`           // degrees, -90 to 90, north is positive
	Longitude float64 `json:"longitude"`          // degrees, -180 to 180, east is positive
	Altitude  float64 `json:"altitude,omitempty"` // metres, -500 to 10000
}

// The bounds of an altitude, in metres: from below the lowest shore to above
// what any drone reaches.
const (
	MinAltitude = -500
	MaxAltitude = 10_000
)

// LocationBody is a Location as it arrives: what is missing is nil.
type LocationBody struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Altitude  *float64 `json:"altitude"`
}

// Location returns the location, and notes in faults what is wrong with it. A
// missing location (nil) is wrong, too.
func (b *LocationBody) Location(faults *problem.Faults, pointer string) Location {
	if b == nil {
		faults.Add(pointer, "is required")
		return Location{}
	}
	var at Location
	at.Latitude = faults.Number(pointer+"/latitude", b.Latitude, -90, 90)
	at.Longitude = faults.Number(pointer+"/longitude", b.Longitude, -180, 180)
	if b.Altitude != nil {
		at.Altitude = faults.Number(pointer+"/altitude", b.Altitude, MinAltitude, MaxAltitude)
	}
	return at
}

// earthRadiusKm is the mean radius of the earth (IUGG).
const earthRadiusKm = 6371.0088

// DistanceKm returns the great-circle distance between two locations in
// kilometres, by the haversine formula; altitudes are left out.
func DistanceKm(a, b Location) float64 {
	lat1, lat2 := radians(a.Latitude), radians(b.Latitude)
	sinLat := math.Sin((lat2 - lat1) / 2)
	sinLong := math.Sin(radians(b.Longitude-a.Longitude) / 2)
	h := sinLat*sinLat + math.Cos(lat1)*math.Cos(lat2)*sinLong*sinLong
	return 2 * earthRadiusKm * math.Asin(math.Sqrt(min(1, h)))
}

// Between returns the location at a fraction (0 to 1) of the way from a to b.
// The way is straight in degrees and takes the shorter side of the earth, which
// is near enough for a drone's reach.
func Between(a, b Location, fraction float64) Location {
	fraction = min(1, max(0, fraction))
	east := math.Remainder(b.Longitude-a.Longitude, 360)
	return Location{
		Latitude:  a.Latitude + (b.Latitude-a.Latitude)*fraction,
		Longitude: math.Remainder(a.Longitude+east*fraction, 360),
		Altitude:  a.Altitude + (b.Altitude-a.Altitude)*fraction,
	}
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
