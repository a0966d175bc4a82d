package system_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that a database that is away takes only what needs it: with the second shard's its ids are
// 503 and all else goes on; with the first one's, which has the directory, ids that clients choose are.
func TestShardAway(t *testing.T) {
	t.Parallel()
	faults := fault.New()
	r := startConfig(t, system.Config{Shards: 2, Mapped: 2, Faults: faults, Settings: map[string]string{"FLIGHT_TIME_SCALE": "0.002"}})
	away := func(database string) {
		t.Helper()
		plan := fault.Plan{Seed: 1}
		if database != "" {
			plan.Bursts = []fault.Burst{{Point: fault.CosmosAway, Scope: database, From: time.Now().Add(-time.Second), Seconds: 600, Rate: 1}}
		}
		if err := faults.Set(plan); err != nil {
			t.Fatal(err)
		}
	}
	defer away("")
	const requests = "/api/deliveryrequests"
	n := 0
	post := func() string {
		t.Helper()
		n++
		body := request(fmt.Sprint("package-away-", n), time.Now().Add(time.Hour))
		return decode[struct{ TransactionID string }](t, r.want(http.StatusAccepted, http.MethodPost, requests, body)).TransactionID
	}
	ids := map[shard.Number]string{}
	for range 40 {
		id := post()
		in, _ := shard.Claimed(id)
		ids[in] = id
	}
	if len(ids) != 2 {
		t.Fatalf("ids in %v", ids)
	}
	database := r.AppSettings().Database
	away(system.InShard(database, 2))
	if a := r.want(http.StatusServiceUnavailable, http.MethodGet, requests+"/"+ids[2], ""); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	r.want(http.StatusOK, http.MethodGet, requests+"/"+ids[1], "")
	for range 10 {
		post()
	}
	away(database)
	r.want(http.StatusServiceUnavailable, http.MethodPut, requests+"/chosen", request("package-chosen", time.Now().Add(time.Hour)))
	r.want(http.StatusServiceUnavailable, http.MethodGet, requests+"/chosen", "")
	r.want(http.StatusServiceUnavailable, http.MethodGet, requests+"/"+ids[1], "")
	r.want(http.StatusOK, http.MethodGet, requests+"/"+ids[2], "")
	for range 10 {
		post()
	}
	away("")
	await(t, "the first shard to be back", func() bool { return r.call(http.MethodGet, requests+"/"+ids[1], "").Status == http.StatusOK })
}
