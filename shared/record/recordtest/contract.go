package recordtest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Call is one request of a contract test, and what is to come back.
type Call struct {
	Name         string
	Method, Path string
	// Transaction and Revision are the headers; "" for none.
	Transaction, Revision string
	Body                  string // "" for none
	Status                int
	// Answer is the JSON of the answer; fields of an object that are not in it
	// may be anything. For an error it is the problem's type. "" allows all.
	Answer string
	// RetryAfter is the header, if it matters.
	RetryAfter string
	// Unchanged tells that a transaction's PUT or DELETE which succeeds changes nothing,
	// and does not say that it does.
	Unchanged bool
}

// Contract makes the calls of the endpoints one after the other, and checks the
// answers.
func Contract(t *testing.T, endpoints []business.Endpoint, calls []Call) {
	t.Helper()
	router := mux.NewRouter()
	Mount(router, slog.New(slog.DiscardHandler), endpoints)
	for _, c := range calls {
		t.Run(c.Name, func(t *testing.T) {
			res := httptest.NewRecorder()
			router.ServeHTTP(res, c.request())
			body := res.Body.String()
			if res.Code != c.Status {
				t.Fatalf("status %d %s, want %d", res.Code, body, c.Status)
			}
			if got := res.Header().Get("Retry-After"); got != c.RetryAfter {
				t.Errorf("Retry-After %q, want %q", got, c.RetryAfter)
			}
			changed := res.Header().Get(record.HeaderChanged) != ""
			if want := c.Transaction != "" && c.Method != http.MethodGet && res.Code < 300 && !c.Unchanged; changed != want {
				t.Errorf("it says that it changed something: %v, want %v", changed, want)
			}
			c.checkBody(t, res.Header().Get("Content-Type"), body)
		})
	}
}

func (c Call) request() *http.Request {
	req := httptest.NewRequest(c.Method, c.Path, strings.NewReader(c.Body))
	if c.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Transaction != "" {
		req.Header.Set(record.HeaderTransaction, c.Transaction)
	}
	if c.Revision != "" {
		req.Header.Set(record.HeaderRevision, c.Revision)
	}
	return req
}

func (c Call) checkBody(t *testing.T, contentType, body string) {
	t.Helper()
	switch {
	case c.Status == http.StatusNoContent:
		if body != "" {
			t.Errorf("a body: %s", body)
		}
		return
	case c.Status >= 400 && contentType != "application/problem+json", c.Status < 400 && contentType != "application/json":
		t.Errorf("content type %q", contentType)
	}
	want := c.Answer
	if want == "" {
		return
	}
	if c.Status >= 400 {
		want = `{"type":"` + want + `"}`
	}
	var gotValue, wantValue any
	if err := json.Unmarshal([]byte(body), &gotValue); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !covers(gotValue, wantValue) {
		t.Errorf("got %s, want %s", body, want)
	}
}

// covers reports whether got is want, apart from further fields of objects.
func covers(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && covers(object[name], value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		ok = ok && len(list) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = covers(list[i], want[i])
		}
		return ok
	}
	return got == want
}
