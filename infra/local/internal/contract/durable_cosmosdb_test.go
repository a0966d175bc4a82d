package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

// Ensure that a power cut leaves every document as it was last answered, with
// its tag and time, and that times to live and conditions go on from there.
func TestDurableCosmosDB(t *testing.T) {
	t.Parallel()
	disk := durableOpen(t, filestest.NewMemory())
	first := cosmosServe(t, 3, disk)
	properties := cosmosProperties("/pk", 2)
	properties.DefaultTimeToLive = ptr(int32(-1))
	c := first.cosmosContainer(t, properties)
	var tag azcore.ETag
	for i := range 20 {
		tag = cosmosCreate(t, c, fmt.Sprint(i), "p", fmt.Sprintf(`,"n":%d`, i)).ETag
	}
	cosmosCreate(t, c, "short-lived", "p", `,"ttl":60`)
	key := azcosmos.NewPartitionKeyString("p")
	_, err := c.DeleteItem(t.Context(), key, "3", nil)
	must(t, "delete", err)
	_, err = c.ReplaceItem(t.Context(), key, "4", []byte(`{"id":"4","pk":"p","n":44}`), nil)
	must(t, "replace", err)
	_, err = c.PatchItem(t.Context(), key, "5", patchOf("/n", 55), nil)
	must(t, "patch", err)
	batch := c.NewTransactionalBatch(key)
	batch.CreateItem([]byte(`{"id":"a","pk":"p"}`), nil)
	batch.DeleteItem("6", nil)
	r, err := c.ExecuteTransactionalBatch(t.Context(), batch, nil)
	if err != nil || !r.Success {
		t.Fatalf("batch: %v, %+v", err, r)
	}
	refused := c.NewTransactionalBatch(key)
	refused.CreateItem([]byte(`{"id":"b","pk":"p"}`), nil)
	refused.CreateItem([]byte(`{"id":"a","pk":"p"}`), nil)
	if r, err := c.ExecuteTransactionalBatch(t.Context(), refused, nil); err != nil || r.Success {
		t.Fatalf("a batch with a conflict: %v, %+v", err, r)
	}
	before, _ := cosmosQuery(t, c, "SELECT * FROM c", key, nil)
	slices.Sort(before)

	second := cosmosServe(t, 5, disk.powerCut(t))
	if want := (cosmos.Counts{Containers: 1, Documents: len(before)}); second.server.Counts() != want {
		t.Errorf("%+v, want %+v", second.server.Counts(), want)
	}
	database, err := second.client.NewDatabase("d")
	must(t, "open database", err)
	again, err := database.NewContainer("c")
	must(t, "open container", err)
	after, _ := cosmosQuery(t, again, "SELECT * FROM c", key, nil)
	slices.Sort(after)
	if diff := cmp.Diff(before, after); diff != "" || len(after) != 20 {
		t.Errorf("%d documents, before (-) and after (+) the power cut:\n%s", len(after), diff)
	}
	replace := func(match azcore.ETag) error {
		_, err := again.ReplaceItem(t.Context(), key, "19", []byte(`{"id":"19","pk":"p","n":0}`), &azcosmos.ItemOptions{IfMatchEtag: &match})
		return err
	}
	must(t, "replace with the tag of before", replace(tag))
	cosmosWantStatus(t, replace(tag), 412)
	second.ahead.Store(int64(61 * time.Second))
	_, err = again.ReadItem(t.Context(), key, "short-lived", nil)
	cosmosWantStatus(t, err, 404)
	cosmosCreate(t, again, "new", "p", "")
}

func patchOf(path string, value any) azcosmos.PatchOperations {
	var p azcosmos.PatchOperations
	p.AppendSet(path, value)
	return p
}
