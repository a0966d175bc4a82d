package cosmos

import (
	"net/http"
	"strings"
	"testing"
)

// Ensure that what is not served is refused, and never taken for something else.
func TestRefusals(t *testing.T) {
	f := newFixture(t, plainContainer)
	const items = "/dbs/d/colls/c/docs"
	key := []string{"x-ms-documentdb-partitionkey", `["p"]`}
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		subStatus, message       string
	}{
		{"stored procedures", "GET", "/dbs/d/colls/c/sprocs", "", nil, 400, "0", "'sprocs' are not supported"},
		{"a trigger", "POST", "/dbs/d/colls/c/triggers", "{}", nil, 400, "0", "'triggers' are not supported"},
		{"functions", "GET", "/dbs/d/colls/c/udfs/u", "", nil, 400, "0", "'udfs' are not supported"},
		{"conflicts", "GET", "/dbs/d/colls/c/conflicts", "", nil, 400, "0", "'conflicts' are not supported"},
		{"users", "GET", "/dbs/d/users", "", nil, 400, "0", "'users' are not supported"},
		{"permissions", "GET", "/dbs/d/users/u/permissions", "", nil, 400, "0", "'permissions' are not supported"},
		{"an unknown path", "GET", "/nothing", "", nil, 404, "0", "Resource Not Found"},
		{"an unknown method", "PUT", "/dbs/d", "{}", nil, 405, "0", "verb"},

		{"a trigger header", "POST", items, "{}", append(key, "x-ms-documentdb-pre-trigger-include", "t"), 400, "0", "trigger 't'"},
		{"the change feed", "GET", items, "", append(key, "A-IM", "Incremental Feed"), 400, "0", "change feed"},
		{"a query plan", "POST", items, "{}", append(key, "x-ms-cosmos-is-query-plan-request", "True"), 400, "0", "Query plans"},
		{"strong consistency", "GET", items + "/a", "", append(key, "x-ms-consistency-level", "Strong"), 400, "0", "stronger"},
		{"no indexing", "POST", items, "{}", append(key, "x-ms-indexing-directive", "Exclude"), 400, "0", "indexing directive"},
		{"a loose batch", "POST", items, "[]", append(key, "x-ms-cosmos-is-batch-request", "True"), 400, "0", "not atomic"},

		{"a missing database", "GET", "/dbs/x", "", nil, 404, "0", "does not exist"},
		{"a container of it", "GET", "/dbs/x/colls/c", "", nil, 404, "1003", "Owner resource"},
		{"a missing container", "GET", "/dbs/d/colls/x", "", nil, 404, "0", "does not exist"},
		{"an item of it", "GET", "/dbs/d/colls/x/docs/a", "", key, 404, "1003", "Owner resource"},
		{"ranges of it", "GET", "/dbs/d/colls/x/pkranges", "", nil, 404, "1003", "Owner resource"},
		{"a query in it", "POST", "/dbs/d/colls/x/docs", `{"query":"SELECT * FROM c"}`, append(key, "x-ms-documentdb-isquery", "True"), 404, "1003", "Owner resource"},
		{"a missing item", "GET", items + "/x", "", key, 404, "0", "does not exist"},

		{"the same database", "POST", "/dbs", `{"id":"d"}`, nil, 409, "0", "already exists"},
		{"the same container", "POST", "/dbs/d/colls", plainContainer, nil, 409, "0", "already exists"},
		{"a database without id", "POST", "/dbs", `{}`, nil, 400, "0", "id"},
		{"a database with a bad id", "POST", "/dbs", `{"id":"a/b"}`, nil, 400, "0", "invalid"},
		{"no JSON", "POST", "/dbs", `{`, nil, 400, "0", "JSON"},
		{"no partition key", "POST", "/dbs/d/colls", `{"id":"x"}`, nil, 400, "0", "partition key"},
		{"hierarchical keys", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}`, nil, 400, "0", "Hierarchical"},
		{"a bad key path", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["a"]}}`, nil, 400, "0", "path"},
		{"a bad key version", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["/a"],"version":3}}`, nil, 400, "0", "version"},
		{"a default of zero", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["/a"]},"defaultTtl":0}`, nil, 400, "0", "defaultTtl"},
		{"unique keys", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["/a"]},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}`, nil, 400, "0", "Unique keys"},
		{"the analytical store", "POST", "/dbs/d/colls", `{"id":"x","partitionKey":{"paths":["/a"]},"analyticalStorageTtl":-1}`, nil, 400, "0", "analytical"},
		{"odd throughput", "POST", "/dbs", `{"id":"x"}`, []string{"x-ms-offer-throughput", "450"}, 400, "0", "throughput"},
		{"another partition key", "PUT", "/dbs/d/colls/c", strings.Replace(plainContainer, "/pk", "/other", 1), nil, 400, "0", "can't be changed"},
		{"another id", "PUT", "/dbs/d/colls/c", strings.Replace(plainContainer, `"c"`, `"e"`, 1), nil, 400, "0", "can't be changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &fixture{t, f.Server, f.clock}
			g.refuses(g.do(tc.method, tc.path, tc.body, tc.headers...), tc.status, tc.subStatus, tc.message)
		})
	}
	if n := f.want(f.do("GET", items, ""), http.StatusOK)["_count"]; n != 0.0 {
		t.Errorf("after refusals there are %v items", n)
	}
}

func TestItemRefusals(t *testing.T) {
	f := newFixture(t, plainContainer)
	long := strings.Repeat("x", maxIDBytes+1)
	for _, tc := range []struct {
		name, body, key    string
		status             int
		subStatus, message string
	}{
		{"no JSON", `{"id":`, `["p"]`, 400, "0", "JSON object"},
		{"an array", `[]`, `["p"]`, 400, "0", "JSON object"},
		{"no id", `{"pk":"p"}`, `["p"]`, 400, "0", "'id; '"},
		{"an empty id", `{"id":"","pk":"p"}`, `["p"]`, 400, "0", "'id; '"},
		{"a number as id", `{"id":1,"pk":"p"}`, `["p"]`, 400, "0", "not a string"},
		{"a long id", `{"id":"` + long + `","pk":"p"}`, `["p"]`, 400, "0", "longer than 1023"},
		{"another partition key", `{"id":"a","pk":"q"}`, `["p"]`, 400, "1001", "doesn't match"},
		{"a key of another type", `{"id":"a","pk":1}`, `["1"]`, 400, "1001", "doesn't match"},
		{"a missing key", `{"id":"a"}`, `["p"]`, 400, "1001", "doesn't match"},
		{"a key for a document without", `{"id":"a","pk":"p"}`, `[{}]`, 400, "1001", "doesn't match"},
		{"an object as key", `{"id":"a","pk":{}}`, `[{}]`, 400, "1001", "doesn't match"},
		{"no header", `{"id":"a","pk":"p"}`, ``, 400, "1001", "fewer components"},
		{"an empty header", `{"id":"a","pk":"p"}`, `[]`, 400, "1001", "fewer components"},
		{"too many components", `{"id":"a","pk":"p"}`, `["p","q"]`, 400, "0", "more components"},
		{"a broken header", `{"id":"a","pk":"p"}`, `p`, 400, "0", "invalid"},
		{"a time to live of zero", `{"id":"a","pk":"p","ttl":0}`, `["p"]`, 400, "0", "ttl '0'"},
		{"a time to live in words", `{"id":"a","pk":"p","ttl":"1"}`, `["p"]`, 400, "0", "ttl"},
		{"too large", `{"id":"a","pk":"p","x":"` + strings.Repeat("x", maxItemBytes) + `"}`, `["p"]`, 413, "0", "too large"},
		{"far too large", strings.Repeat(" ", maxBodyBytes+1), `["p"]`, 413, "0", "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &fixture{t, f.Server, f.clock}
			g.refuses(g.do("POST", "/dbs/d/colls/c/docs", tc.body, "x-ms-documentdb-partitionkey", tc.key), tc.status, tc.subStatus, tc.message)
		})
	}
}
