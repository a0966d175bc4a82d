package value

import (
	"math"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

func TestValidID(t *testing.T) {
	tests := map[string]bool{
		"a": true, "A-Z_0.9": true, "..a": true, strings.Repeat("x", 64): true,
		"": false, ".": false, "..": false, "...": false, strings.Repeat("x", 65): false,
		"a b": false, "a/b": false, "ä": false, "a\x00": false, "a%20": false,
	}
	for id, want := range tests {
		if got := ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v", id, got)
		}
	}
}

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

func TestNumberKnowsOneZero(t *testing.T) {
	var faults Faults
	if got := faults.Number("/n", new(math.Copysign(0, -1)), -1, 1); math.Signbit(got) {
		t.Error("minus zero is left")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.1} {
		var faults Faults
		faults.Number("/n", &bad, -1, 1)
		if !faults.Has("/n") {
			t.Errorf("%v is allowed", bad)
		}
	}
	var positive Faults
	positive.Positive("/n", new(math.NaN()))
	if !positive.Has("/n") {
		t.Error("NaN is greater than 0")
	}
}

func TestFaultsHaveOnePerPart(t *testing.T) {
	var faults Faults
	if faults.Err() != nil {
		t.Error("an empty list is an error")
	}
	faults.Add("/a", "first")
	faults.Add("/a", "second")
	faults.Add("/a/b", "inside")
	faults.Add("/ab", "beside")
	p := problem.From(faults.Err())
	if len(p.Errors) != 2 || p.Errors[0] != (problem.Field{Pointer: "/a", Detail: "first"}) || p.Errors[1].Pointer != "/ab" {
		t.Errorf("got %+v", p.Errors)
	}
}
