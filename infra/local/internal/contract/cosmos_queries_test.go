package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestCosmosQueryOnePartition(t *testing.T) {
	_, c := cosmosItems(t, 4)
	for i := range 10 {
		cosmosCreate(t, c, fmt.Sprint(i), "p", fmt.Sprintf(`,"n":%d`, i))
		cosmosCreate(t, c, fmt.Sprint(i), "q", fmt.Sprintf(`,"n":%d`, i))
	}
	key := azcosmos.NewPartitionKeyString("p")
	o := &azcosmos.QueryOptions{PageSizeHint: 4, QueryParameters: []azcosmos.QueryParameter{{Name: "@from", Value: 3}}}
	for text, want := range map[string][]string{
		"SELECT VALUE c.n FROM c WHERE c.n > @from ORDER BY c.n DESC": {"9", "8", "7", "6", "5", "4"},
		"SELECT TOP 2 c.id FROM c WHERE c.n >= @from":                 {`{"id":"3"}`, `{"id":"4"}`},
		"SELECT VALUE COUNT(1) FROM c WHERE c.n >= @from":             {"7"},
		"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 2":       {"2", "3"},
	} {
		if got, _ := cosmosQuery(t, c, text, key, o); !slices.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", text, got, want)
		}
	}
	if got, pages := cosmosQuery(t, c, "SELECT VALUE c.n FROM c ORDER BY c.n", key, o); len(got) != 10 || pages != 3 {
		t.Errorf("%d results on %d pages, want 10 on 3", len(got), pages)
	}
}

func TestCosmosQueryAcrossPartitions(t *testing.T) {
	_, c := cosmosItems(t, 4)
	for i := range 40 {
		cosmosCreate(t, c, "a", fmt.Sprint(i), fmt.Sprintf(`,"n":%d`, i))
	}
	all := azcosmos.NewPartitionKey()
	got, pages := cosmosQuery(t, c, "SELECT VALUE c.n FROM c", all, &azcosmos.QueryOptions{PageSizeHint: 7})
	slices.Sort(got)
	if unique := slices.Compact(slices.Clone(got)); len(got) != 40 || len(unique) != 40 || pages < 6 {
		t.Errorf("%d results, %d of them different, on %d pages", len(got), len(unique), pages)
	}
	if got, pages = cosmosQuery(t, c, "SELECT * FROM c WHERE c.n = 7", all, nil); len(got) != 1 || pages != 4 {
		t.Errorf("%d results on %d pages: want 1 on 4, three of them empty", len(got), pages)
	}
	for _, text := range []string{"SELECT * FROM c ORDER BY c.n", "SELECT TOP 1 * FROM c", "SELECT VALUE COUNT(1) FROM c", "SELECT DISTINCT c.n FROM c", "SELECT * FROM c WHERE"} {
		_, err := c.NewQueryItemsPager(text, all, nil).NextPage(t.Context())
		if cosmosWantStatus(t, err, http.StatusBadRequest); !strings.Contains(err.Error(), "gateway") && !strings.Contains(err.Error(), "SC1002") {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := c.NewQueryItemsPager("SELECT * FROM c", all, &azcosmos.QueryOptions{EnableCrossPartitionQuery: to.Ptr(false)}).NextPage(t.Context())
	cosmosWantStatus(t, err, http.StatusBadRequest)
}

// Ensure that the SDK routes reads of many items by the ranges that the emulator
// shows, under both versions of the hash and with all kinds of keys. Version 1,
// which is meant where none is given, has one range.
func TestCosmosReadMany(t *testing.T) {
	for version, shown := range []int{1, 1, 5} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			f := cosmosServe(t, 5, store.NewMemory())
			c := f.cosmosContainer(t, cosmosProperties("/pk", version))
			keys := map[string]azcosmos.PartitionKey{
				`null`: azcosmos.NullPartitionKey, `true`: azcosmos.NewPartitionKeyBool(true), `-1.5`: azcosmos.NewPartitionKeyNumber(-1.5),
			}
			for i := range 30 {
				s := strings.Repeat("k", i) + "ü"
				keys[fmt.Sprintf("%q", s)] = azcosmos.NewPartitionKeyString(s)
			}
			var identities []azcosmos.ItemIdentity
			for text, key := range keys {
				if _, err := c.CreateItem(t.Context(), key, fmt.Appendf(nil, `{"id":"a","pk":%s}`, text), nil); err != nil {
					t.Fatal(err)
				}
				identities = append(identities, azcosmos.ItemIdentity{ID: "a", PartitionKey: key})
			}
			identities = append(identities, azcosmos.ItemIdentity{ID: "absent", PartitionKey: azcosmos.NewPartitionKeyString("x")})
			r, err := c.ReadManyItems(t.Context(), identities, nil)
			if err != nil || len(r.Items) != len(keys) {
				t.Errorf("%d items, want %d: %v", len(r.Items), len(keys), err)
			}
			ranges, err := c.ReadFeedRanges(t.Context(), nil)
			if err != nil || len(ranges) != shown || ranges[0].MinInclusive != "" || ranges[shown-1].MaxExclusive != "FF" {
				t.Errorf("ranges %v: %v", ranges, err)
			}
		})
	}
}

// Ensure that readers of pages see each item that is there all the time exactly
// once while others insert and delete.
func TestCosmosPagingUnderWrites(t *testing.T) {
	const kept, churn = 60, 200
	_, c := cosmosItems(t, 3)
	for i := range kept {
		cosmosCreate(t, c, "kept", fmt.Sprint(i), `,"kept":true`)
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range churn / 4 {
				pk := fmt.Sprintf("new-%d-%d", w, i)
				key := azcosmos.NewPartitionKeyString(pk)
				if _, err := c.CreateItem(t.Context(), key, fmt.Appendf(nil, `{"id":"x","pk":%q}`, pk), nil); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					if _, err := c.DeleteItem(t.Context(), key, "x", nil); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 5 {
		results, _ := cosmosQuery(t, c, "SELECT VALUE c.pk FROM c WHERE IS_DEFINED(c.kept)", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 5})
		slices.Sort(results)
		if unique := slices.Compact(slices.Clone(results)); len(results) != kept || len(unique) != kept {
			t.Errorf("%d results, %d of them different; want %d", len(results), len(unique), kept)
		}
	}
	writers.Wait()
	if all, _ := cosmosQuery(t, c, "SELECT VALUE 1 FROM c", azcosmos.NewPartitionKey(), nil); len(all) != kept+churn/2 {
		t.Errorf("in the end there are %d items, want %d", len(all), kept+churn/2)
	}
}

func TestCosmosTimeToLive(t *testing.T) {
	f := cosmosServe(t, 2, store.NewMemory())
	properties := cosmosProperties("/pk", 2)
	properties.DefaultTimeToLive = to.Ptr[int32](60)
	c := f.cosmosContainer(t, properties)
	cosmosCreate(t, c, "default", "p", "")
	cosmosCreate(t, c, "short", "p", `,"ttl":5`)
	cosmosCreate(t, c, "never", "p", `,"ttl":-1`)
	key := azcosmos.NewPartitionKeyString("p")
	for _, step := range []struct {
		ahead time.Duration
		want  []string
	}{
		{0, []string{`"default"`, `"short"`, `"never"`}},
		{6 * time.Second, []string{`"default"`, `"never"`}},
		{61 * time.Second, []string{`"never"`}},
	} {
		f.ahead.Store(int64(step.ahead))
		if got, _ := cosmosQuery(t, c, "SELECT VALUE c.id FROM c", key, nil); !slices.Equal(got, step.want) {
			t.Errorf("after %v: %v, want %v", step.ahead, got, step.want)
		}
	}
	_, err := c.ReadItem(t.Context(), key, "default", nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
	cosmosCreate(t, c, "default", "p", "")
}

// Ensure that another emulator over the same store serves what the first one
// acknowledged.
func TestCosmosRestart(t *testing.T) {
	kept := store.NewMemory()
	f := cosmosServe(t, 3, kept)
	c := f.cosmosContainer(t, cosmosProperties("/pk", 2))
	for i := range 10 {
		cosmosCreate(t, c, "a", fmt.Sprint(i), "")
	}
	etag := cosmosCreate(t, c, "b", "0", "").ETag
	again := cosmosServe(t, 7, kept)
	c, err := again.client.NewContainer("d", "c")
	if err != nil {
		t.Fatal(err)
	}
	if got, pages := cosmosQuery(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), nil); len(got) != 11 || pages != 3 {
		t.Errorf("%d items on %d pages, want 11 on 3", len(got), pages)
	}
	if _, err := c.DeleteItem(t.Context(), azcosmos.NewPartitionKeyString("0"), "b", &azcosmos.ItemOptions{IfMatchEtag: &etag}); err != nil {
		t.Errorf("delete by the tag from before: %v", err)
	}
}

// Ensure that the change feed is refused, not empty.
func TestCosmosChangeFeed(t *testing.T) {
	_, c := cosmosItems(t, 1)
	ranges, err := c.ReadFeedRanges(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ReadChangeFeed(t.Context(), &azcosmos.ChangeFeedOptions{FeedRange: &ranges[0]})
	cosmosWantStatus(t, err, http.StatusBadRequest)
}
