package cosmos

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Ensure that the account names the address that was asked, and its scheme:
// clients send everything else there.
func TestAccountDocument(t *testing.T) {
	f := newFixture(t, plainContainer)
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		server := start(f.Server)
		r, err := http.NewRequest("GET", server.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		date := f.clock.Now().Format(http.TimeFormat)
		r.Header.Set("x-ms-date", date)
		r.Header.Set("Authorization", token(f.key, r, date))
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		w.Code = answer.StatusCode
		if _, err := w.Body.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		account := f.want(w, http.StatusOK)
		for _, list := range []string{"writableLocations", "readableLocations"} {
			location := account[list].([]any)[0].(map[string]any)
			if got, want := location["databaseAccountEndpoint"], server.URL+"/"; got != want {
				t.Errorf("%s: endpoint %v, want %s", list, got, want)
			}
		}
		server.Client().CloseIdleConnections()
		server.Close()
	}
}

// Ensure that a container shows what it was given and what the service adds.
func TestContainerDocument(t *testing.T) {
	f := newFixture(t, `{"id":"c","partitionKey":{"paths":["/a/b"],"kind":"Hash","version":2},"defaultTtl":-1,
		"indexingPolicy":{"automatic":true,"indexingMode":"consistent","excludedPaths":[{"path":"/x/*"}]},"fullTextPolicy":{"defaultLanguage":"en-US"}}`)
	c := f.want(f.do("GET", "/dbs/d/colls/c", ""), http.StatusOK)
	for _, name := range []string{"_rid", "_self", "_etag", "_ts", "_docs", "conflictResolutionPolicy", "fullTextPolicy"} {
		if c[name] == nil {
			t.Errorf("the container has no %s", name)
		}
	}
	if c["defaultTtl"] != -1.0 || c["indexingPolicy"].(map[string]any)["excludedPaths"] == nil {
		t.Errorf("the container is %v", c)
	}
	f.want(f.do("GET", "/dbs/d/colls/c", "", "If-None-Match", c["_etag"].(string)), http.StatusNotModified)
	f.refuses(f.do("DELETE", "/dbs/d/colls/c", "", "If-Match", `"stale"`), 412, "0", "precondition")
}

// Ensure that the feeds of databases and containers have pages and take filters.
func TestCatalogFeeds(t *testing.T) {
	f := newFixture(t, plainContainer)
	for _, id := range []string{"e", "f", "g"} {
		f.want(f.do("POST", "/dbs", `{"id":"`+id+`"}`), http.StatusCreated)
	}
	w := f.do("GET", "/dbs", "", "x-ms-max-item-count", "3")
	first := f.want(w, http.StatusOK)
	second := f.want(f.do("GET", "/dbs", "", "x-ms-continuation", w.Header().Get("x-ms-continuation")), http.StatusOK)
	if first["_count"] != 3.0 || second["_count"] != 1.0 {
		t.Errorf("pages of %v and %v", first["_count"], second["_count"])
	}
	query := func(path, text string) *httptest.ResponseRecorder {
		return f.do("POST", path, `{"query":"`+text+`","parameters":[{"name":"@id","value":"f"}]}`, "x-ms-documentdb-query", "True")
	}
	if got := f.want(query("/dbs", "SELECT * FROM root r WHERE r.id = @id"), http.StatusOK); got["_count"] != 1.0 {
		t.Errorf("the filter gives %v", got)
	}
	f.refuses(query("/dbs", "SELECT * FROM c ORDER BY c.id"), 400, "0", "Only filters")
	f.refuses(query("/dbs/d/colls", "SELECT"), 400, "0", "SC1002")
	f.refuses(query("/dbs/x/colls", "SELECT * FROM c"), 404, "1003", "Owner resource")
}
