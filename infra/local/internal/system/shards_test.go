package system_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that several shards do their work behind one front: whatever clients ask for
// ends as it does with one, and each shard takes its part, until it is closing.
func TestShards(t *testing.T) {
	t.Parallel()
	r := startConfig(t, system.Config{Shards: 2, Mapped: 2, Settings: map[string]string{"FLEET_DRONES": "60", "FLIGHT_TIME_SCALE": "0.002"}})
	view := decode[operate.ShardsView](t, r.want(http.StatusOK, http.MethodGet, "/api/operations/shards", ""))
	if view.Map.Version != 1 || len(view.Map.Shards) != 2 {
		t.Fatalf("%+v", view.Map)
	}
	r.workload(7, 60, undisturbed)
	if n := r.deadLetters(); n > 0 {
		t.Errorf("%d dead letters, want none", n)
	}
	packages := 0
	placed := func() map[shard.Number]int {
		of := map[shard.Number]int{}
		for range 20 {
			packages++
			body := request(fmt.Sprint("package-of-a-shard-", packages), time.Now().Add(time.Hour))
			receipt := decode[struct{ TransactionID string }](t, r.want(http.StatusAccepted, http.MethodPost, "/api/deliveryrequests", body))
			n, _ := shard.Claimed(receipt.TransactionID)
			of[n]++
		}
		return of
	}
	if of := placed(); of[1] == 0 || of[2] == 0 || len(of) != 2 {
		t.Errorf("placed in %v", of)
	}
	r.want(http.StatusOK, http.MethodPost, "/api/operations/shards", `{"by":"ada","why":"test","change":{"act":"close","shard":1}}`)
	if of := placed(); of[2] != 20 {
		t.Errorf("with the first closing, placed in %v", of)
	}
}
