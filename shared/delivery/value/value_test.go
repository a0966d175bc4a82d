package value

import (
	"math"
	"testing"
)

func TestDistanceKm(t *testing.T) {
	tests := []struct {
		name string
		a, b Location
		want float64
	}{
		{"nowhere", Location{Latitude: 47.6, Longitude: -122.3}, Location{Latitude: 47.6, Longitude: -122.3}, 0},
		{"altitude does not count", Location{Altitude: 100}, Location{}, 0},
		{"a degree of latitude", Location{}, Location{Latitude: 1}, 111.195},
		{"a degree of longitude at 60 degrees", Location{Latitude: 60}, Location{Latitude: 60, Longitude: 1}, 55.597},
		{"over the date line", Location{Longitude: 179.5}, Location{Longitude: -179.5}, 111.195},
		{"the other side", Location{}, Location{Longitude: 180}, math.Pi * earthRadiusKm},
		{"pole to pole", Location{Latitude: 90}, Location{Latitude: -90}, math.Pi * earthRadiusKm},
		{"Seattle to Redmond", Location{Latitude: 47.6062, Longitude: -122.3321},
			Location{Latitude: 47.6740, Longitude: -122.1215}, 17.486},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, got := range []float64{DistanceKm(tt.a, tt.b), DistanceKm(tt.b, tt.a)} {
				if math.Abs(got-tt.want) > 0.01 {
					t.Errorf("got %.3f, want %.3f", got, tt.want)
				}
			}
		})
	}
}

func TestBetween(t *testing.T) {
	tests := []struct {
		name     string
		a, b     Location
		fraction float64
		want     Location
	}{
		{"start", Location{1, 2, 3}, Location{5, 6, 7}, 0, Location{1, 2, 3}},
		{"middle", Location{1, 2, 3}, Location{5, 6, 7}, 0.5, Location{3, 4, 5}},
		{"end", Location{1, 2, 3}, Location{5, 6, 7}, 1, Location{5, 6, 7}},
		{"before", Location{1, 2, 3}, Location{5, 6, 7}, -2, Location{1, 2, 3}},
		{"behind", Location{1, 2, 3}, Location{5, 6, 7}, 2, Location{5, 6, 7}},
		{"east over the date line", Location{Longitude: 179}, Location{Longitude: -179}, 0.75, Location{Longitude: -179.5}},
		{"west over the date line", Location{Longitude: -179}, Location{Longitude: 179}, 0.75, Location{Longitude: 179.5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Between(tt.a, tt.b, tt.fraction); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
