package cosmos

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A fixture is a server with one container, c in d with /pk as its partition
// key, that is asked without a network.
type fixture struct {
	*testing.T
	*Server
	clock *clock
}

func newServer(t *testing.T, cfg Config, st store.Store) *Server {
	t.Helper()
	s, err := New(cfg, st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newFixture(t *testing.T, container string) *fixture {
	t.Helper()
	c := newClock()
	f := &fixture{T: t, Server: newServer(t, Config{Now: c.Now}, store.NewMemory()), clock: c}
	f.want(f.do("POST", "/dbs", `{"id":"d"}`), http.StatusCreated)
	f.want(f.do("POST", "/dbs/d/colls", container), http.StatusCreated)
	return f
}

const plainContainer = `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`

// do signs and sends a request; headers come in pairs of name and value.
func (f *fixture) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return ask(f.Server, f.clock.Now(), method, path, body, headers...)
}

// item is do on an item of the partition p.
func (f *fixture) item(method, id, body string, headers ...string) *httptest.ResponseRecorder {
	path := "/dbs/d/colls/c/docs"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return f.do(method, path, body, append([]string{"x-ms-documentdb-partitionkey", `["p"]`}, headers...)...)
}

// query asks for a page of a query; with an empty partition across all.
func (f *fixture) query(text, partition string, headers ...string) *httptest.ResponseRecorder {
	body, err := json.Marshal(map[string]any{"query": text})
	if err != nil {
		f.Fatal(err)
	}
	headers = append([]string{"Content-Type", "application/query+json", "x-ms-documentdb-query-enablecrosspartition", "true"}, headers...)
	if partition != "" {
		headers = append(headers, "x-ms-documentdb-partitionkey", partition)
	}
	return f.do("POST", "/dbs/d/colls/c/docs", string(body), headers...)
}

func ask(s *Server, now time.Time, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	date := now.Format(http.TimeFormat)
	r.Header.Set("x-ms-date", date)
	r.Header.Set("Authorization", token(s.key, r, date))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return answerTo(s, r)
}

// answerTo gives the answer with its headers named as Go's clients name them.
func answerTo(s *Server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	header := w.Header().Clone()
	clear(w.Header())
	for name, values := range header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	return w
}

// token signs a request as clients do.
func token(key []byte, r *http.Request, date string) string {
	t, err := parseTarget(escapedPath(r.URL))
	if err != nil {
		panic(err)
	}
	payload := strings.ToLower(r.Method) + "\n" + t.kind + "\n" + t.link + "\n" + strings.ToLower(date) + "\n\n"
	return url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(sign(key, payload)))
}

// want ends the test unless the answer has that status.
func (f *fixture) want(w *httptest.ResponseRecorder, status int) map[string]any {
	f.Helper()
	if w.Code != status {
		f.Fatalf("status %d, want %d; body %s", w.Code, status, w.Body)
	}
	text, err := io.ReadAll(w.Body)
	if err != nil {
		f.Fatal(err)
	}
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		f.Fatalf("body %s: %v", text, err)
	}
	return body
}

// refuses ends the test unless the answer is an error with that status,
// sub-status and part of its message.
func (f *fixture) refuses(w *httptest.ResponseRecorder, status int, subStatus, message string) {
	f.Helper()
	body := f.want(w, status)
	got, _ := body["message"].(string)
	if body["code"] != codes[status] || w.Header().Get("x-ms-substatus") != subStatus || !strings.Contains(got, message) {
		f.Fatalf("answer %v with sub-status %s; want code %s, sub-status %s and %q", body, w.Header().Get("x-ms-substatus"), codes[status], subStatus, message)
	}
}
