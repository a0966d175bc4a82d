package drone_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
)

// Ensure that the pages of one search are those of one query, although the
// clock goes on: Cosmos DB refuses the continuation of another.
func TestSearchOverSeveralPagesIsOneQuery(t *testing.T) {
	h := newHarness(t, 3, 1).ready()
	s := drone.New(h.cfg, &h.assignments, drone.Over(&h.drones), func() time.Time {
		h.pass(time.Millisecond)
		return h.clock()
	})
	if _, _, err := put(s, "t", 1, ask()); err != nil {
		t.Error(err)
	}
}
