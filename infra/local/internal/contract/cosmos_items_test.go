package contract

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var cosmosContent = &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

func TestCosmosItems(t *testing.T) {
	_, c := cosmosItems(t, 4)
	key := azcosmos.NewPartitionKeyString("p")
	created := cosmosCreate(t, c, "a", "p", `,"exact":1.10,"big":9007199254740993,"list":[1,{"x":null}]`)
	if len(created.Value) != 0 || created.ETag == "" || created.SessionToken == nil || created.RequestCharge <= 0 || created.ActivityID == "" {
		t.Errorf("created: %d bytes, tag %s, charge %v", len(created.Value), created.ETag, created.RequestCharge)
	}
	read, err := c.ReadItem(t.Context(), key, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(read.Value), `{"id":"a","pk":"p","exact":1.10,"big":9007199254740993,"list":[1,{"x":null}],"_rid":`) || read.ETag != created.ETag {
		t.Errorf("read %s with tag %s", read.Value, read.ETag)
	}
	if item := cosmosDecode(t, read.Value); item["_etag"] != string(read.ETag) || item["_ts"] == nil || item["_self"] == nil {
		t.Errorf("read %v", item)
	}

	_, err = c.CreateItem(t.Context(), key, []byte(`{"id":"a","pk":"p"}`), nil)
	cosmosWantStatus(t, err, http.StatusConflict)
	replaced, err := c.ReplaceItem(t.Context(), key, "a", []byte(`{"id":"a","pk":"p","n":1}`), cosmosContent)
	if err != nil || cosmosDecode(t, replaced.Value)["n"] != 1.0 || replaced.ETag == created.ETag {
		t.Fatalf("replaced by %s with tag %s: %v", replaced.Value, replaced.ETag, err)
	}
	upserted, err := c.UpsertItem(t.Context(), key, []byte(`{"id":"a","pk":"p","n":2}`), cosmosContent)
	if err != nil || upserted.RawResponse.StatusCode != http.StatusOK || cosmosDecode(t, upserted.Value)["n"] != 2.0 {
		t.Fatalf("upserted %s: %v", upserted.Value, err)
	}
	upserted, err = c.UpsertItem(t.Context(), key, []byte(`{"id":"b","pk":"p"}`), nil)
	if err != nil || upserted.RawResponse.StatusCode != http.StatusCreated {
		t.Fatalf("upserted anew: %v", err)
	}
	if _, err := c.DeleteItem(t.Context(), key, "a", nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.ReadItem(t.Context(), key, "a", nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
	_, err = c.ReplaceItem(t.Context(), key, "a", []byte(`{"id":"a","pk":"p"}`), nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
	_, err = c.DeleteItem(t.Context(), key, "a", nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
	_, err = c.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("q"), []byte(`{"id":"a","pk":"p"}`), nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)
	_, err = c.CreateItem(t.Context(), key, fmt.Appendf(nil, `{"id":"a","pk":"p","x":%q}`, strings.Repeat("x", 2<<20)), nil)
	cosmosWantStatus(t, err, http.StatusRequestEntityTooLarge)
}

// Ensure that a stale tag stops each operation that takes one.
func TestCosmosETags(t *testing.T) {
	_, c := cosmosItems(t, 2)
	key := azcosmos.NewPartitionKeyString("p")
	stale := cosmosCreate(t, c, "a", "p", "").ETag
	current, err := c.ReplaceItem(t.Context(), key, "a", []byte(`{"id":"a","pk":"p","n":1}`), &azcosmos.ItemOptions{IfMatchEtag: &stale})
	if err != nil {
		t.Fatal(err)
	}
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 1)
	body := []byte(`{"id":"a","pk":"p","n":2}`)
	operations := map[string]func(*azcosmos.ItemOptions) error{
		"replace": func(o *azcosmos.ItemOptions) error {
			_, err := c.ReplaceItem(t.Context(), key, "a", body, o)
			return err
		},
		"upsert": func(o *azcosmos.ItemOptions) error { _, err := c.UpsertItem(t.Context(), key, body, o); return err },
		"patch": func(o *azcosmos.ItemOptions) error {
			_, err := c.PatchItem(t.Context(), key, "a", patch, o)
			return err
		},
		"delete": func(o *azcosmos.ItemOptions) error { _, err := c.DeleteItem(t.Context(), key, "a", o); return err },
	}
	for name, operation := range operations {
		if got := cosmosStatus(t, operation(&azcosmos.ItemOptions{IfMatchEtag: &stale})); got != http.StatusPreconditionFailed {
			t.Errorf("%s with a stale tag: %d", name, got)
		}
	}
	if err := operations["delete"](&azcosmos.ItemOptions{IfMatchEtag: &current.ETag}); err != nil {
		t.Errorf("delete with the current tag: %v", err)
	}
}

func TestCosmosPatch(t *testing.T) {
	_, c := cosmosItems(t, 2)
	key := azcosmos.NewPartitionKeyString("p")
	cosmosCreate(t, c, "a", "p", `,"n":1,"gone":true,"list":[1]`)
	var patch azcosmos.PatchOperations
	patch.AppendAdd("/list/-", 2)
	patch.AppendSet("/s", "new")
	patch.AppendReplace("/list/0", map[string]int{"x": 1})
	patch.AppendRemove("/gone")
	patch.AppendIncrement("/n", 41)
	patch.SetCondition("from c where c.n = 1")
	r, err := c.PatchItem(t.Context(), key, "a", patch, cosmosContent)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(r.Value), `{"id":"a","pk":"p","n":42,"list":[{"x":1},2],`) || !strings.Contains(string(r.Value), `"s":"new"`) {
		t.Errorf("patched to %s", r.Value)
	}
	_, err = c.PatchItem(t.Context(), key, "a", patch, nil)
	cosmosWantStatus(t, err, http.StatusPreconditionFailed)
	var missing azcosmos.PatchOperations
	missing.AppendReplace("/gone", 1)
	_, err = c.PatchItem(t.Context(), key, "a", missing, nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)
	_, err = c.PatchItem(t.Context(), key, "absent", missing, nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
}

func TestCosmosBatch(t *testing.T) {
	_, c := cosmosItems(t, 2)
	key := azcosmos.NewPartitionKeyString("p")
	cosmosCreate(t, c, "old", "p", "")
	batch := c.NewTransactionalBatch(key)
	batch.CreateItem([]byte(`{"id":"a","pk":"p","n":1}`), nil)
	batch.UpsertItem([]byte(`{"id":"b","pk":"p"}`), nil)
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 1)
	batch.PatchItem("a", patch, nil)
	batch.ReadItem("a", nil)
	batch.ReplaceItem("b", []byte(`{"id":"b","pk":"p","n":3}`), nil)
	batch.DeleteItem("old", nil)
	r, err := c.ExecuteTransactionalBatch(t.Context(), batch, nil)
	if err != nil || !r.Success || len(r.OperationResults) != 6 || r.SessionToken == "" || r.RequestCharge <= 0 {
		t.Fatalf("batch %+v: %v", r, err)
	}
	for i, want := range []int32{201, 201, 200, 200, 200, 204} {
		if got := r.OperationResults[i].StatusCode; got != want {
			t.Errorf("operation %d: status %d, want %d", i, got, want)
		}
	}
	if got := cosmosDecode(t, r.OperationResults[3].ResourceBody); got["n"] != 2.0 || got["_etag"] != string(r.OperationResults[2].ETag) {
		t.Errorf("the read gives %v", got)
	}

	failing := c.NewTransactionalBatch(key)
	failing.DeleteItem("a", nil)
	failing.ReplaceItem("b", []byte(`{"id":"b","pk":"p"}`), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: to.Ptr[azcore.ETag](`"stale"`)})
	failing.CreateItem([]byte(`{"id":"c","pk":"p"}`), nil)
	r, err = c.ExecuteTransactionalBatch(t.Context(), failing, nil)
	if err != nil || r.Success || r.RawResponse.StatusCode != http.StatusMultiStatus {
		t.Fatalf("failing batch %+v: %v", r, err)
	}
	for i, want := range []int32{424, 412, 424} {
		if got := r.OperationResults[i].StatusCode; got != want {
			t.Errorf("operation %d: status %d, want %d", i, got, want)
		}
	}
	if _, err := c.ReadItem(t.Context(), key, "a", nil); err != nil {
		t.Errorf("the item that the failed batch deleted: %v", err)
	}
	many := c.NewTransactionalBatch(key)
	for range 101 {
		many.ReadItem("a", nil)
	}
	_, err = c.ExecuteTransactionalBatch(t.Context(), many, nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)
}

// Ensure that exactly one of 64 conditional writers wins each round, over the
// network.
func TestCosmosOneWriterWins(t *testing.T) {
	const writers, rounds = 64, 5
	_, c := cosmosItems(t, 2)
	key := azcosmos.NewPartitionKeyString("p")
	etag := cosmosCreate(t, c, "a", "p", "").ETag
	for round := range rounds {
		tags := make([]azcore.ETag, writers)
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				r, err := c.ReplaceItem(t.Context(), key, "a", fmt.Appendf(nil, `{"id":"a","pk":"p","n":%d}`, w), &azcosmos.ItemOptions{IfMatchEtag: &etag})
				tags[w], errs[w] = r.ETag, err
			})
		}
		wg.Wait()
		wins := 0
		for w, err := range errs {
			switch cosmosStatus(t, err) {
			case 0:
				wins++
				etag = tags[w]
			case http.StatusPreconditionFailed:
			default:
				t.Fatalf("round %d, writer %d: %v", round, w, err)
			}
		}
		if wins != 1 {
			t.Fatalf("round %d: %d writers won", round, wins)
		}
	}
}
