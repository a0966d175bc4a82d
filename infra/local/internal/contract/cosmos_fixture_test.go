package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A cosmosFixture is the emulator behind a real listener, and a client of the
// official SDK for it.
type cosmosFixture struct {
	client *azcosmos.Client
	server *cosmos.Server
	url    string
	ahead  atomic.Int64 // how far the server's clock is ahead, in nanoseconds
	http   *http.Client
}

func cosmosServe(t *testing.T, ranges int, st store.Store) *cosmosFixture {
	t.Helper()
	f := &cosmosFixture{}
	var err error
	f.server, err = cosmos.New(cosmos.Config{
		RangesPerContainer: ranges,
		Now:                func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) },
	}, st)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(f.server)
	f.url, f.http = listener.URL, listener.Client()
	f.http.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	t.Cleanup(func() {
		f.http.CloseIdleConnections()
		listener.Close()
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
	})
	f.client, err = azcosmos.NewClientFromConnectionString(f.server.ConnectionString(listener.Listener.Addr().String()), f.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.client.Close)
	return f
}

// options let the SDK use the test's connections, and not repeat refusals.
func (f *cosmosFixture) options() *azcosmos.ClientOptions {
	return &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: f.http,
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
}

// cosmosContainer makes a database and a container in it.
func (f *cosmosFixture) cosmosContainer(t *testing.T, properties azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	t.Helper()
	if _, err := f.client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil); err != nil {
		t.Fatal(err)
	}
	database, err := f.client.NewDatabase("d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.CreateContainer(t.Context(), properties, nil); err != nil {
		t.Fatal(err)
	}
	container, err := database.NewContainer(properties.ID)
	if err != nil {
		t.Fatal(err)
	}
	return container
}

func cosmosProperties(path string, version int) azcosmos.ContainerProperties {
	return azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{path}, Version: version},
	}
}

// cosmosItems is an emulator with an empty container, by the partition key /pk.
func cosmosItems(t *testing.T, ranges int) (*cosmosFixture, *azcosmos.ContainerClient) {
	f := cosmosServe(t, ranges, store.NewMemory())
	return f, f.cosmosContainer(t, cosmosProperties("/pk", 2))
}

// cosmosCreate creates an item in the partition that its pk names.
func cosmosCreate(t *testing.T, c *azcosmos.ContainerClient, id, pk, more string) azcosmos.ItemResponse {
	t.Helper()
	r, err := c.CreateItem(t.Context(), azcosmos.NewPartitionKeyString(pk), fmt.Appendf(nil, `{"id":%q,"pk":%q%s}`, id, pk, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cosmosStatus is the status that the SDK reports in an error; 0 without error.
func cosmosStatus(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v is no answer of the service", err)
	}
	return refused.StatusCode
}

func cosmosWantStatus(t *testing.T, err error, want int) {
	t.Helper()
	if got := cosmosStatus(t, err); got != want {
		t.Fatalf("status %d, want %d: %v", got, want, err)
	}
}

func cosmosDecode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("item %s: %v", text, err)
	}
	return v
}

// cosmosQuery reads all pages of a query.
func cosmosQuery(t *testing.T, c *azcosmos.ContainerClient, text string, key azcosmos.PartitionKey, o *azcosmos.QueryOptions) (results []string, pages int) {
	t.Helper()
	pager := c.NewQueryItemsPager(text, key, o)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if page.RequestCharge <= 0 || page.ActivityID == "" || page.QueryMetrics == nil {
			t.Errorf("page %d: charge %v, activity %q, metrics %v", pages, page.RequestCharge, page.ActivityID, page.QueryMetrics)
		}
		for _, item := range page.Items {
			results = append(results, string(item))
		}
		pages++
	}
	return results, pages
}
