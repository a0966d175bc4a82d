package cosmos

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What clients in other languages do, and azcosmos never does.

// byID asks by a path of resource ids, signed with the last of them.
func (f *fixture) byID(method, path, kind, rid string, headers ...string) *httptest.ResponseRecorder {
	date := f.clock.Now().Format(http.TimeFormat)
	payload := strings.ToLower(method) + "\n" + kind + "\n" + strings.ToLower(rid) + "\n" + strings.ToLower(date) + "\n\n"
	signature := base64.StdEncoding.EncodeToString(sign(f.key, payload))
	return f.do(method, path, "", append(headers, "Authorization", url.QueryEscape("type=master&ver=1.0&sig="+signature))...)
}

func TestPathsByResourceID(t *testing.T) {
	f := newFixture(t, plainContainer)
	item := f.want(f.item("POST", "", `{"id":"a","pk":"p"}`), http.StatusCreated)
	container := f.want(f.do("GET", "/dbs/d/colls/c", ""), http.StatusOK)
	database := f.want(f.do("GET", "/dbs/d", ""), http.StatusOK)
	partition := []string{"x-ms-documentdb-partitionkey", `["p"]`}
	rid := func(of map[string]any) string { return of["_rid"].(string) }
	in := "/" + container["_self"].(string)
	for _, c := range []struct {
		path, kind, rid string
		headers         []string
		member, want    string
	}{
		{"/" + database["_self"].(string), "dbs", rid(database), nil, "id", "d"},
		{in, "colls", rid(container), nil, "id", "c"},
		{in + "pkranges", "pkranges", rid(container), nil, "_rid", rid(container)},
		{in + "docs", "docs", rid(container), nil, "_rid", rid(container)},
		{"/" + item["_self"].(string), "docs", rid(item), partition, "id", "a"},
		{"/dbs/" + rid(database) + "/colls", "colls", rid(database), nil, "_rid", rid(database)},
	} {
		if got := f.want(f.byID("GET", c.path, c.kind, c.rid, c.headers...), http.StatusOK)[c.member]; got != c.want {
			t.Errorf("%s: %s is %v, want %s", c.path, c.member, got, c.want)
		}
	}
	f.want(f.byID("GET", in, "colls", rid(database)), http.StatusUnauthorized)
	f.want(f.byID("GET", in+"docs/"+rid(container), "docs", rid(container), partition...), http.StatusNotFound)
	f.want(f.byID("DELETE", "/"+item["_self"].(string), "docs", rid(item), partition...), http.StatusNoContent)
	f.want(f.byID("GET", "/"+item["_self"].(string), "docs", rid(item), partition...), http.StatusNotFound)
}

// .NET's SDK reads the configuration, and answers' headers in lower case.
func TestWhatDotNetReads(t *testing.T) {
	f := newFixture(t, plainContainer)
	account := f.want(f.do("GET", "/", ""), http.StatusOK)
	var engine map[string]any
	if err := json.Unmarshal([]byte(account["queryEngineConfiguration"].(string)), &engine); err != nil || engine["maxSqlQueryInputLength"] != float64(maxQueryBytes) {
		t.Errorf("the query engine is %v, %v", engine, err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	lower := 0
	for name := range w.Header() {
		switch {
		case strings.HasPrefix(name, "x-ms-"):
			lower++
		case name != "Content-Type" && name != "Cache-Control":
			t.Errorf("header %s", name)
		}
	}
	if lower < 6 {
		t.Errorf("headers %v", w.Header())
	}
}

// A key and the range of another key together have no items, where the range
// alone has.
func TestKeyOutsideTheRange(t *testing.T) {
	f := newFixture(t, plainContainer)
	for i := range 20 {
		body := fmt.Sprintf(`{"id":"a","pk":"%d"}`, i)
		f.want(f.do("POST", "/dbs/d/colls/c/docs", body, "x-ms-documentdb-partitionkey", fmt.Sprintf(`["%d"]`, i)), http.StatusCreated)
	}
	found := 0
	for i := range 20 {
		for _, r := range []string{"0", "1"} {
			body := f.want(f.query("SELECT * FROM c", fmt.Sprintf(`["%d"]`, i), rangeHeader, r), http.StatusOK)
			for _, d := range body["Documents"].([]any) {
				if pk := d.(map[string]any)["pk"]; pk != fmt.Sprint(i) {
					t.Errorf("key %d in range %s has an item of %v", i, r, pk)
				}
				found++
			}
		}
	}
	if found != 20 {
		t.Errorf("found %d of 20 items", found)
	}
}

// JavaScript's SDK sends the operations of a patch alone.
func TestPatchAsAnArray(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.want(f.item("POST", "", `{"id":"a","pk":"p"}`), http.StatusCreated)
	if got := f.want(f.item("PATCH", "a", `[{"op":"add","path":"/n","value":1}]`), http.StatusOK)["n"]; got != float64(1) {
		t.Errorf("n is %v", got)
	}
	f.refuses(f.item("PATCH", "a", `[]`), http.StatusBadRequest, "0", "no operations")
}

func TestIDsOfAllCharacters(t *testing.T) {
	f := newFixture(t, plainContainer)
	for _, id := range []string{"a?b", "a/b", `a\b`, "a#b", "a%b", "a+b c", "ü€😀", "a%2Fb", "..", "?"} {
		body, err := json.Marshal(map[string]string{"id": id, "pk": "p"})
		if err != nil {
			t.Fatal(err)
		}
		f.want(f.item("POST", "", string(body)), http.StatusCreated)
		if got := f.want(f.item("GET", id, ""), http.StatusOK)["id"]; got != id {
			t.Errorf("%q reads as %v", id, got)
		}
		f.want(f.item("DELETE", id, ""), http.StatusNoContent)
	}
	f.want(f.item("POST", "", `{"id":"a?b=c","pk":"p"}`), http.StatusCreated)
	f.want(f.do("GET", "/dbs/d/colls/c/docs/a?b=c", "", "x-ms-documentdb-partitionkey", `["p"]`), http.StatusOK)
	f.want(f.do("GET", "/dbs/d/colls/c/docs/a", "", "x-ms-documentdb-partitionkey", `["p"]`), http.StatusNotFound)
}

func TestIndexMetrics(t *testing.T) {
	f := newFixture(t, plainContainer)
	old := f.query("SELECT * FROM c", `["p"]`, "x-ms-cosmos-populateindexmetrics", "True").Header().Get("x-ms-cosmos-index-utilization")
	if b, err := base64.StdEncoding.DecodeString(old); err != nil || !json.Valid(b) {
		t.Errorf("base64: %s, %v", old, err)
	}
	now := f.query("SELECT * FROM c", `["p"]`, "x-ms-cosmos-populateindexmetrics-V2", "true").Header().Get("x-ms-cosmos-index-utilization")
	text, err := url.PathUnescape(now)
	var metrics struct {
		Utilized, Potential *struct{ SingleIndexes, CompositeIndexes []any }
	}
	if err != nil || json.Unmarshal([]byte(text), &metrics) != nil || metrics.Utilized == nil || metrics.Potential == nil {
		t.Errorf("escaped: %s, %v", now, err)
	}
}
