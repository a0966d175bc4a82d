package problem_test

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
		if got := problem.ValidID(id); got != want {
			t.Errorf("problem.ValidID(%q) = %v", id, got)
		}
	}
}

func TestNumberKnowsOneZero(t *testing.T) {
	var faults problem.Faults
	if got := faults.Number("/n", new(math.Copysign(0, -1)), -1, 1); math.Signbit(got) {
		t.Error("minus zero is left")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.1} {
		var faults problem.Faults
		faults.Number("/n", &bad, -1, 1)
		if !faults.Has("/n") {
			t.Errorf("%v is allowed", bad)
		}
	}
	var positive problem.Faults
	positive.Positive("/n", new(math.NaN()))
	if !positive.Has("/n") {
		t.Error("NaN is greater than 0")
	}
}

func TestFaultsHaveOnePerPart(t *testing.T) {
	var faults problem.Faults
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
