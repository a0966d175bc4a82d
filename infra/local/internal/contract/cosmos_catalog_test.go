package contract

import (
	"context"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestCosmosDatabases(t *testing.T) {
	f := cosmosServe(t, 2, store.NewMemory())
	throughput := azcosmos.NewManualThroughputProperties(600)
	for id, o := range map[string]*azcosmos.CreateDatabaseOptions{"plain": nil, "paid": {ThroughputProperties: &throughput}} {
		r, err := f.client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: id}, o)
		if err != nil {
			t.Fatal(err)
		}
		p := r.DatabaseProperties
		if p.ID != id || p.ResourceID == "" || p.SelfLink == "" || p.ETag == nil || p.LastModified.IsZero() || r.RequestCharge <= 0 {
			t.Errorf("created %+v for %v", p, r.RequestCharge)
		}
	}
	_, err := f.client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "plain"}, nil)
	cosmosWantStatus(t, err, http.StatusConflict)

	var found []string
	pager := f.client.NewQueryDatabasesPager("SELECT * FROM root r WHERE r.id = @id", &azcosmos.QueryDatabasesOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: "paid"}},
	})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Databases {
			found = append(found, d.ID)
		}
	}
	if len(found) != 1 || found[0] != "paid" {
		t.Errorf("the query gives %v", found)
	}

	plain, err := f.client.NewDatabase("plain")
	if err != nil {
		t.Fatal(err)
	}
	_, err = plain.ReadThroughput(t.Context(), nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
	paid, err := f.client.NewDatabase("paid")
	if err != nil {
		t.Fatal(err)
	}
	cosmosReplaceThroughput(t, 600, paid.ReadThroughput, paid.ReplaceThroughput)

	if _, err := plain.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = plain.Read(t.Context(), nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
}

func TestCosmosContainers(t *testing.T) {
	f := cosmosServe(t, 2, store.NewMemory())
	properties := azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
		DefaultTimeToLive:      to.Ptr[int32](60),
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths:    []azcosmos.IncludedPath{{Path: "/*"}},
			CompositeIndexes: [][]azcosmos.CompositeIndex{{{Path: "/a", Order: azcosmos.CompositeIndexAscending}, {Path: "/b", Order: azcosmos.CompositeIndexDescending}}},
		},
	}
	c := f.cosmosContainer(t, properties)
	r, err := c.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := r.ContainerProperties
	if p.ID != "c" || p.ResourceID == "" || *p.DefaultTimeToLive != 60 || p.PartitionKeyDefinition.Paths[0] != "/pk" ||
		p.PartitionKeyDefinition.Kind != azcosmos.PartitionKeyKindHash || len(p.IndexingPolicy.CompositeIndexes) != 1 || p.ConflictResolutionPolicy == nil {
		t.Errorf("read %+v", p)
	}
	cosmosReplaceThroughput(t, 400, c.ReadThroughput, c.ReplaceThroughput)

	properties.DefaultTimeToLive = nil
	r, err = c.Replace(t.Context(), properties, nil)
	if err != nil || r.ContainerProperties.DefaultTimeToLive != nil || r.ETag == azcore.ETag("") || r.ETag == *p.ETag {
		t.Errorf("replaced by %+v with tag %s: %v", r.ContainerProperties, r.ETag, err)
	}
	properties.PartitionKeyDefinition.Paths = []string{"/other"}
	_, err = c.Replace(t.Context(), properties, nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)

	database, err := f.client.NewDatabase("d")
	if err != nil {
		t.Fatal(err)
	}
	hierarchical := azcosmos.ContainerProperties{ID: "h", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/a", "/b"}, Version: 2}}
	_, err = database.CreateContainer(t.Context(), hierarchical, nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)
	_, err = database.CreateContainer(t.Context(), cosmosProperties("/pk", 2), nil)
	cosmosWantStatus(t, err, http.StatusConflict)
	n := 0
	for pager := database.NewQueryContainersPager("SELECT * FROM c", nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.Containers)
	}
	if n != 1 {
		t.Errorf("the query gives %d containers, want 1", n)
	}
	if _, err := c.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.Read(t.Context(), nil)
	cosmosWantStatus(t, err, http.StatusNotFound)
}

// Ensure that keys and tokens that are not the account's are refused, in a way
// that the SDK reports.
func TestCosmosCredentials(t *testing.T) {
	f := cosmosServe(t, 2, store.NewMemory())
	key, err := azcosmos.NewKeyCredential("d3Jvbmc=")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := azcosmos.NewClientWithKey(f.url, key, f.options())
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	_, err = wrong.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil)
	cosmosWantStatus(t, err, http.StatusUnauthorized)
}

// cosmosReplaceThroughput reads manual throughput and changes it, through the
// methods of a database or container.
func cosmosReplaceThroughput(t *testing.T, before int32,
	read func(context.Context, *azcosmos.ThroughputOptions) (azcosmos.ThroughputResponse, error),
	replace func(context.Context, azcosmos.ThroughputProperties, *azcosmos.ThroughputOptions) (azcosmos.ThroughputResponse, error),
) {
	t.Helper()
	r, err := read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := r.ThroughputProperties.ManualThroughput(); !ok || got != before {
		t.Errorf("throughput %d, want %d", got, before)
	}
	if _, err := replace(t.Context(), azcosmos.NewAutoscaleThroughputProperties(4000), nil); err != nil {
		t.Fatal(err)
	}
	if r, err = read(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.ThroughputProperties.AutoscaleMaxThroughput(); !ok || got != 4000 {
		t.Errorf("throughput up to %d, want 4000", got)
	}
	_, err = replace(t.Context(), azcosmos.NewManualThroughputProperties(450), nil)
	cosmosWantStatus(t, err, http.StatusBadRequest)
}
