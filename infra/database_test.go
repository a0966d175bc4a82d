package infra_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var databaseChecks = []check{{"database account", databaseAccount}, {"containers", containers}, {"throughput", throughput}}

// databaseAccount: the consistency that the code relies on, one region, one
// database.
func databaseAccount(w *world) []string {
	var out []string
	for _, account := range w.deployed.Of(accountKind) {
		regions, _ := account.At("properties.locations").([]any)
		level := account.Text("properties.consistencyPolicy.defaultConsistencyLevel")
		// azcosmos keeps no session tokens: a read must see the last write anyway.
		if level != "Strong" && (level != "BoundedStaleness" || len(regions) != 1) {
			out = append(out, fmt.Sprintf("%s is read with %s consistency: a read may miss the last write", account.Name, level))
		}
		if account.At("properties.enableMultipleWriteLocations") == true {
			out = append(out, account.Name+" is written in several regions: an ETag holds in one")
		}
	}
	if got, want := w.entities(databaseKind), w.expected().Database; !slices.Equal(got, []string{want}) {
		out = append(out, fmt.Sprintf("the databases are %v, not %s", got, want))
	}
	return out
}

// containers: names, partition keys, times to live and index policies are those
// of shared/cosmosdb; those of the system itself in a stamp.
func containers(w *world) []string {
	var out []string
	deployed := map[string]map[string]any{}
	for _, r := range w.deployed.Of(containerKind) {
		resource, _ := r.At("properties.resource").(map[string]any)
		name := r.Name[strings.LastIndex(r.Name, "/")+1:]
		if resource["id"] != name {
			out = append(out, fmt.Sprintf("the container %s has the id %v", name, resource["id"]))
		}
		deployed[name] = resource
	}
	of := chosen.Business()
	if w.scenario.stamp {
		of.Backends = nil // their containers are elsewhere
	}
	for _, spec := range cosmosdb.Containers(of) {
		resource, ok := deployed[spec.Name]
		if !ok {
			out = append(out, fmt.Sprintf("the container %s is not deployed", spec.Name))
			continue
		}
		delete(deployed, spec.Name)
		key, _ := resource["partitionKey"].(map[string]any)
		if got, want := fmt.Sprint(key["paths"], key["kind"], key["version"]), fmt.Sprint([]string{spec.PartitionKey}, "Hash", 2); got != want {
			out = append(out, fmt.Sprintf("%s has the partition key %s, not %s", spec.Name, got, want))
		}
		ttl, _ := resource["defaultTtl"].(int64)
		if ttl != int64(spec.DefaultTTLSeconds) {
			out = append(out, fmt.Sprintf("%s has defaultTtl %d, not %d", spec.Name, ttl, spec.DefaultTTLSeconds))
		}
		out = append(out, indexes(spec, resource)...)
		for _, unwanted := range []string{"uniqueKeyPolicy", "conflictResolutionPolicy", "analyticalStorageTtl"} {
			if resource[unwanted] != nil {
				out = append(out, fmt.Sprintf("%s has a %s", spec.Name, unwanted))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(deployed)) {
		out = append(out, fmt.Sprintf("the container %s is deployed, and the code has none", name))
	}
	return out
}

// indexes: what queries compare is indexed, and nothing else: each path makes
// every write dearer.
func indexes(spec cosmosdb.ContainerSpec, resource map[string]any) []string {
	var want []string
	for _, field := range spec.Indexed {
		want = append(want, "/"+strings.ReplaceAll(field, ".", "/")+"/?")
	}
	policy, _ := resource["indexingPolicy"].(map[string]any)
	included := pathsOf(policy["includedPaths"])
	slices.Sort(included)
	slices.Sort(want)
	if !slices.Equal(included, want) || !slices.Equal(pathsOf(policy["excludedPaths"]), []string{"/*"}) || policy["indexingMode"] != "consistent" {
		return []string{fmt.Sprintf("%s indexes %v without %v, and its queries compare %v", spec.Name, included, pathsOf(policy["excludedPaths"]), want)}
	}
	return nil
}

func pathsOf(list any) []string {
	var out []string
	items, _ := list.([]any)
	for _, item := range items {
		entry, _ := item.(map[string]any)
		path, _ := entry["path"].(string)
		out = append(out, path)
	}
	return out
}

// throughput: every container has its own autoscale, or the account is
// serverless and none has any.
func throughput(w *world) []string {
	var out []string
	for _, account := range w.deployed.Of(accountKind) {
		serverless := strings.Contains(fmt.Sprint(account.At("properties.capabilities")), "EnableServerless")
		for _, c := range w.deployed.Of(containerKind) {
			most, there := c.At("properties.options.autoscaleSettings.maxThroughput").(int64)
			switch {
			case serverless && c.At("properties.options.autoscaleSettings") != nil:
				out = append(out, c.Name+" has throughput, and its account is serverless")
			case !serverless && (!there || most < 1000 || most%1000 != 0): // Microsoft Learn, "Autoscale throughput in Azure Cosmos DB"
				out = append(out, fmt.Sprintf("%s has autoscale to %d RU/s; allowed: thousands from 1000", c.Name, most))
			}
		}
	}
	return out
}

// compared finds what a query compares, but for what the service has an index of
// anyway: its own fields begin with an underscore.
var compared = regexp.MustCompile(`\bc((?:\.[A-Za-z]+|\["[A-Za-z]+"\])+) *(?:=|<|>)`)

// TestIndexesAreThoseOfTheQueries drives every adapter of the system's own that
// queries against a server that notes the queries.
func TestIndexesAreThoseOfTheQueries(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]string{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		parts := strings.Split(r.URL.Path, "/")
		if len(parts) < 5 {
			fmt.Fprintf(rw, `{"id":"a","readableLocations":[{"name":"w","databaseAccountEndpoint":"https://%[1]s/"}],"writableLocations":[{"name":"w","databaseAccountEndpoint":"https://%[1]s/"}],"enableMultipleWriteLocations":false}`, r.Host)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var q struct{ Query string }
		if json.Unmarshal(body, &q) == nil {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range compared.FindAllStringSubmatch(q.Query, -1) {
				path := strings.NewReplacer(`["`, ".", `"]`, "").Replace(m[1])
				got[parts[4]] = joined(got[parts[4]], []string{strings.TrimPrefix(path, ".")})
			}
		}
		fmt.Fprint(rw, `{"Documents":[],"_count":0}`)
	}))
	t.Cleanup(server.Close)
	db, err := cosmosdb.Open(cosmosdb.Connection{
		ConnectionString: "AccountEndpoint=" + server.URL + "/;AccountKey=" + emulatorKey + ";",
	}, cosmosdb.Options{Database: "fabrikam", Transport: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	queryAll(t, db)
	mu.Lock()
	defer mu.Unlock()
	for _, c := range cosmosdb.Containers(business.Business{Key: "a.b"}) {
		if !slices.Equal(got[c.Name], c.Indexed) {
			t.Errorf("%s is queried by %v, and its specification says %v", c.Name, got[c.Name], c.Indexed)
		}
	}
}

// emulatorKey is the published key of Microsoft's emulator.
const emulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// queryAll runs every query that those adapters have.
func queryAll(t *testing.T, db *cosmosdb.Database) {
	t.Helper()
	ctx := context.Background()
	transactions := cosmosdb.NewTransactions(db)
	entries := cosmosdb.NewQuarantine(db)
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	_, _, err1 := transactions.Overdue(ctx, workflow.At(now), "")
	_, _, err2 := transactions.OverdueNotices(ctx, workflow.At(now), "")
	_, _, err3 := transactions.Find(ctx, operate.Where{
		States: []workflow.State{workflow.Running, workflow.Stuck}, Caller: "c", WrittenSince: now, Key: "a.b", Value: "v",
	}, "")
	_, _, err4 := entries.Page(ctx, quarantine.Filter{Source: "s", Reason: "r", TransactionID: "t", State: "Open"}, "")
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
