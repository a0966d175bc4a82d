package contract

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// faultyContainer is the app's adapter for a container that breaks as the
// injector says.
func faultyContainer(t *testing.T) (*cosmosdb.Container, *fault.Injector) {
	t.Helper()
	in := fault.New()
	account, err := cosmos.New(cosmos.Config{RangesPerContainer: 3, Faults: in}, store.NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(account)
	t.Cleanup(func() {
		server.Close()
		if err := account.Close(); err != nil {
			t.Errorf("close account: %v", err)
		}
	})
	connection := account.ConnectionString(strings.TrimPrefix(server.URL, "http://"))
	client, err := azcosmos.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil); err != nil {
		t.Fatal(err)
	}
	d, err := client.NewDatabase("d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.CreateContainer(t.Context(), cosmosProperties("/id", 2), nil); err != nil {
		t.Fatal(err)
	}
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: connection}, cosmosdb.Options{Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	c := db.Container("c")
	return c, in
}

func document(id, value string) []byte { return []byte(`{"id":"` + id + `","value":"` + value + `"}`) }

func valueOf(t *testing.T, doc []byte) string {
	t.Helper()
	v, _ := cosmosDecode(t, doc)["value"].(string)
	return v
}

// TestCosmosFaults: what the app's adapter makes of each fault while it lasts,
// how often the client has tried, what was done, and that all is well after it.
// This holds package cosmos to what it says of azcosmos.
func TestCosmosFaults(t *testing.T) {
	t.Parallel()
	const throttled = 50 * time.Millisecond
	for _, c := range []struct {
		point                 fault.Point
		after                 time.Duration // that the failure asks to wait
		writeTries, readTries uint64
		created, replaced     bool // at the first try
		readFails             bool
	}{
		{point: fault.CosmosThrottle, after: throttled, writeTries: 4, readTries: 4, readFails: true},
		{point: fault.CosmosUnavailable, writeTries: 1, readTries: 1, readFails: true},
		{point: fault.CosmosTimeout, writeTries: 1, readTries: 2, created: true, readFails: true},
		{point: fault.CosmosAnswerLost, writeTries: 1, readTries: 0, created: true, replaced: true},
	} {
		t.Run(string(c.point), func(t *testing.T) {
			t.Parallel()
			container, in := faultyContainer(t)
			tries := func(what string, want uint64, do func() error) error {
				t.Helper()
				before := in.Counts()[c.point].Hit
				plan(t, in, always(c.point))
				err := do()
				plan(t, in, fault.Plan{})
				if got := in.Counts()[c.point].Hit - before; got != want {
					t.Errorf("%s: %d tries, want %d", what, got, want)
				}
				return err
			}
			failed := func(what string, err error) {
				t.Helper()
				wantTransient(t, what, err, c.after)
			}
			value := func() string {
				doc, _, err := container.Read(t.Context(), "a", "a")
				if failure.Is(err, failure.NotFound) {
					return ""
				}
				must(t, "read", err)
				return valueOf(t, doc)
			}
			err := tries("create", c.writeTries, func() error {
				_, err := container.Create(t.Context(), "a", "a", document("a", "1"))
				return err
			})
			failed("create", err)
			if got := value() == "1"; got != c.created {
				t.Errorf("created: %v, want %v", got, c.created)
			}
			etag, err := container.Upsert(t.Context(), "a", "a", document("a", "1"))
			must(t, "upsert", err)
			err = tries("replace", c.writeTries, func() error {
				_, err := container.Replace(t.Context(), "a", "a", document("a", "2"), etag)
				return err
			})
			failed("replace", err)
			if got := value() == "2"; got != c.replaced {
				t.Errorf("replaced: %v, want %v", got, c.replaced)
			}
			for what, do := range map[string]func() error{
				"read": func() error { _, _, err := container.Read(t.Context(), "a", "a"); return err },
				"page": func() error {
					_, _, err := container.Page(t.Context(), business.Query{Text: "SELECT * FROM c"})
					return err
				},
			} {
				switch err := tries(what, c.readTries, do); {
				case c.readFails:
					failed(what, err)
				case err != nil:
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// TestCosmosRace: a conditional write comes too late, to the same document.
func TestCosmosRace(t *testing.T) {
	t.Parallel()
	container, in := faultyContainer(t)
	etag, err := container.Create(t.Context(), "a", "a", document("a", "1"))
	must(t, "create", err)
	plan(t, in, always(fault.CosmosRace))
	if _, err := container.Replace(t.Context(), "a", "a", document("a", "2"), etag); !failure.Is(err, failure.Conflict) {
		t.Errorf("replace: %v of kind %v", err, failure.KindOf(err))
	}
	wantHit(t, in, fault.CosmosRace)
	plan(t, in, fault.Plan{})
	doc, now, err := container.Read(t.Context(), "a", "a")
	must(t, "read", err)
	if valueOf(t, doc) != "1" || now == etag {
		t.Errorf("the document is %s", doc)
	}
	if _, err := container.Replace(t.Context(), "a", "a", document("a", "2"), etag); !failure.Is(err, failure.Conflict) {
		t.Errorf("replace with the old tag: %v", err)
	}
	_, err = container.Replace(t.Context(), "a", "a", document("a", "2"), now)
	must(t, "replace", err)
}

func TestCosmosIsSlow(t *testing.T) {
	t.Parallel()
	container, in := faultyContainer(t)
	plan(t, in, always(fault.CosmosSlow))
	_, err := container.Create(t.Context(), "a", "a", document("a", "1"))
	must(t, "create", err)
	wantHit(t, in, fault.CosmosSlow)
}
