package cosmos

import (
	"net/http"
	"testing"
)

// Ensure what conditions do to each operation on an item that exists.
func TestConditions(t *testing.T) {
	const body = `{"id":"a","pk":"p","n":1}`
	patch := `{"operations":[{"op":"set","path":"/n","value":2}]}`
	const stale = `"00000000-0000-0000-0000-000000000000"`
	for _, tc := range []struct {
		name, method, id, body string
		headers                []string
		ifMatch, ifNoneMatch   int // the statuses with the current tag
	}{
		{"create", "POST", "", body, nil, 409, 409},
		{"upsert", "POST", "", body, []string{"x-ms-documentdb-is-upsert", "True"}, 200, 412},
		{"replace", "PUT", "a", body, nil, 200, 412},
		{"patch", "PATCH", "a", patch, nil, 200, 412},
		{"delete", "DELETE", "a", "", nil, 204, 412},
		{"read", "GET", "a", "", nil, 200, 304},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, plainContainer)
			etag := f.want(f.item("POST", "", body), http.StatusCreated)["_etag"].(string)
			try := func(header, tag string) int {
				return f.item(tc.method, tc.id, tc.body, append([]string{header, tag}, tc.headers...)...).Code
			}
			if tc.name != "create" && tc.name != "read" {
				if got := try("If-Match", stale); got != http.StatusPreconditionFailed {
					t.Errorf("If-Match of a stale tag: %d", got)
				}
			}
			if got := try("If-None-Match", etag); got != tc.ifNoneMatch {
				t.Errorf("If-None-Match of the current tag: %d, want %d", got, tc.ifNoneMatch)
			}
			if got := try("If-None-Match", "*"); got != tc.ifNoneMatch {
				t.Errorf("If-None-Match of any tag: %d, want %d", got, tc.ifNoneMatch)
			}
			if got := try("If-Match", etag); got != tc.ifMatch {
				t.Errorf("If-Match of the current tag: %d, want %d", got, tc.ifMatch)
			}
			if tc.ifMatch == http.StatusOK && tc.name != "read" {
				if got := try("If-Match", etag); got != http.StatusPreconditionFailed {
					t.Errorf("If-Match of the tag before the write: %d", got)
				}
			}
		})
	}
}

// Ensure that the condition of an upsert is on an item that exists, and that the
// other operations don't make one.
func TestConditionsOnMissingItem(t *testing.T) {
	f := newFixture(t, plainContainer)
	for _, method := range []string{"PUT", "PATCH", "DELETE", "GET"} {
		body := `{"id":"a","pk":"p","operations":[{"op":"set","path":"/n","value":2}]}`
		f.refuses(f.item(method, "a", body, "If-Match", "*"), 404, "0", "does not exist")
	}
	f.want(f.item("POST", "", `{"id":"a","pk":"p"}`, "x-ms-documentdb-is-upsert", "True", "If-Match", `"x"`), http.StatusCreated)
}

// Ensure the answers that clients read: status, tag, session, charge, body.
func TestItemAnswers(t *testing.T) {
	f := newFixture(t, plainContainer)
	w := f.item("POST", "", `{"id":"a","pk":"p","_etag":"mine","_rid":"mine","big":12345678901234567890.123}`)
	created := f.want(w, http.StatusCreated)
	for _, name := range []string{"_rid", "_self", "_etag", "_attachments", "_ts"} {
		if created[name] == nil || created[name] == "mine" {
			t.Errorf("%s is %v", name, created[name])
		}
	}
	for _, name := range []string{"etag", "x-ms-session-token", "x-ms-request-charge", "x-ms-activity-id", "lsn"} {
		if w.Header().Get(name) == "" {
			t.Errorf("the answer has no %s", name)
		}
	}
	if w.Header().Get("etag") != created["_etag"] {
		t.Errorf("the header says %s, the item %s", w.Header().Get("etag"), created["_etag"])
	}
	read := f.item("GET", "a", "")
	want := `{"id":"a","pk":"p","big":12345678901234567890.123,"_rid":`
	if got := read.Body.String(); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("read %s, want it to begin with %s", got, want)
	}
	w = f.item("PUT", "a", `{"id":"a","pk":"p"}`, "Prefer", "return=minimal")
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("etag") == "" {
		t.Errorf("minimal: status %d, body %s, tag %s", w.Code, w.Body, w.Header().Get("etag"))
	}
	if w = f.item("DELETE", "a", ""); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Errorf("delete: status %d, body %s", w.Code, w.Body)
	}
}

// Ensure that items of one id live side by side in different partitions, one of
// them without a partition key.
func TestPartitionsAreApart(t *testing.T) {
	f := newFixture(t, plainContainer)
	keys := map[string]string{`["p"]`: `"p"`, `["q"]`: `"q"`, `[1]`: `1`, `[1.5]`: `1.5`, `[true]`: `true`, `[false]`: `false`, `[null]`: `null`, `["1"]`: `"1"`}
	for header, value := range keys {
		f.want(f.do("POST", "/dbs/d/colls/c/docs", `{"id":"a","pk":`+value+`}`, "x-ms-documentdb-partitionkey", header), http.StatusCreated)
	}
	f.want(f.do("POST", "/dbs/d/colls/c/docs", `{"id":"a"}`, "x-ms-documentdb-partitionkey", `[{}]`), http.StatusCreated)
	f.want(f.do("DELETE", "/dbs/d/colls/c/docs/a", "", "x-ms-documentdb-partitionkey", `[1]`), http.StatusNoContent)
	for header := range keys {
		want := http.StatusOK
		if header == `[1]` {
			want = http.StatusNotFound
		}
		f.want(f.do("GET", "/dbs/d/colls/c/docs/a", "", "x-ms-documentdb-partitionkey", header), want)
	}
	f.want(f.do("GET", "/dbs/d/colls/c/docs/a", "", "x-ms-documentdb-partitionkey", `[{}]`), http.StatusOK)
}

// Ensure that a replace may give an item a new id, but not that of another.
func TestReplaceRenames(t *testing.T) {
	f := newFixture(t, plainContainer)
	rid := f.want(f.item("POST", "", `{"id":"a","pk":"p"}`), http.StatusCreated)["_rid"]
	f.want(f.item("POST", "", `{"id":"b","pk":"p"}`), http.StatusCreated)
	f.refuses(f.item("PUT", "a", `{"id":"b","pk":"p"}`), 409, "0", "already exists")
	if got := f.want(f.item("PUT", "a", `{"id":"c","pk":"p"}`), http.StatusOK)["_rid"]; got != rid {
		t.Errorf("the renamed item has the resource id %v, had %v", got, rid)
	}
	f.want(f.item("GET", "a", ""), http.StatusNotFound)
	f.want(f.item("GET", "c", ""), http.StatusOK)
	if n := f.want(f.query("SELECT * FROM c", `["p"]`), http.StatusOK)["_count"]; n != 2.0 {
		t.Errorf("there are %v items, want 2", n)
	}
}

// Ensure that ids with special characters are found again.
func TestItemIDs(t *testing.T) {
	f := newFixture(t, plainContainer)
	for _, id := range []string{"with space", " leading", "trailing ", "ü鱀", "a%20b", "q?x=1", ",=.:~+-@()^${}[]!_", ".."} {
		f.want(f.item("POST", "", `{"id":"`+id+`","pk":"p"}`), http.StatusCreated)
		if got := f.want(f.item("GET", id, ""), http.StatusOK)["id"]; got != id {
			t.Errorf("read %v, want %v", got, id)
		}
		f.want(f.item("DELETE", id, ""), http.StatusNoContent)
	}
}
