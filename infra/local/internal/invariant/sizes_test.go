package invariant

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
)

// largest is what Cosmos DB takes, in bytes.
const largest = 2 << 20

// Ensure the documents of every container have a bound that leaves them room.
func TestBounds(t *testing.T) {
	for _, c := range cosmosdb.Containers {
		if most := bounds[c.Name]; most <= 0 || most > largest*3/4 {
			t.Errorf("documents of %s may have %d bytes", c.Name, most)
		}
	}
	if len(bounds) != len(cosmosdb.Containers) {
		t.Errorf("%d bounds for %d containers", len(bounds), len(cosmosdb.Containers))
	}
}

// Ensure a document may be as large as its bound, and no larger.
func TestSizes(t *testing.T) {
	for container, most := range bounds {
		for _, tt := range []struct{ bytes, broken int }{{1, 0}, {most, 0}, {most + 1, 1}, {largest, 1}} {
			var f findings
			checkSizes(newIndex(&Snapshot{Documents: []Document{{container, "d", tt.bytes}}}), &f)
			if len(f.violations) != tt.broken || f.checked != 1 {
				t.Errorf("%d bytes in %s: %+v", tt.bytes, container, f.violations)
			}
		}
	}
}
