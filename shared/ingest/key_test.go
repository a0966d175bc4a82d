package ingest

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

func TestKeyIDKeepsCallersApart(t *testing.T) {
	// The ids that were given out once must stay.
	if got, want := keyID("caller", "key"), "ada8c628-a22b-5676-818e-4b3f9a64f198"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, pair := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"", "abc"}, {"abc", ""}, {"1:a", "b"}, {"a", "b"}} {
		id := keyID(pair[0], pair[1])
		if other, ok := seen[id]; ok || !problem.ValidID(id) {
			t.Errorf("%v has the id %s, as %s", pair, id, other)
		}
		seen[id] = pair[0] + "," + pair[1]
	}
}
