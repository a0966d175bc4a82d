package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Ensure that a client tells what was taken, what was surely not, and what nobody
// knows.
func TestSend(t *testing.T) {
	const problem = "application/problem+json"
	cases := map[string]struct {
		status     int
		body       string
		retryAfter string
		want       Outcome
		id, err    string
	}{
		"accepted":            {202, `{"transactionId":"t-1"}`, "", Accepted, "t-1", ""},
		"without an id":       {202, `{}`, "", Failed, "", "status 202: {}"},
		"busy":                {503, `{"title":"Busy"}`, "1", Refused, "", ""},
		"too many":            {429, `too many`, "7", Refused, "", ""},
		"no time given":       {503, `{"title":"Busy"}`, "", Failed, "", "status 503"},
		"may have been taken": {503, `{"transactionId":"t-1"}`, "1", Failed, "", "status 503"},
		"broken":              {500, ``, "", Failed, "", "status 500"},
		"moved":               {307, ``, "", Failed, "", "status 307"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				got = fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Authorization"), " ", string(body), err)
				w.Header().Set("Content-Type", problem)
				w.Header().Set("Location", "/elsewhere")
				if c.retryAfter != "" {
					w.Header().Set("Retry-After", c.retryAfter)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer server.Close()
			client := NewClient(server.URL+"/api/things", 1, func(n int) []byte { return fmt.Append(nil, "body ", n) },
				func(context.Context) (http.Header, error) { return http.Header{"Authorization": {"Bearer x"}}, nil })
			defer client.Close()
			a := client.Send(t.Context(), 7)
			if a.Outcome != c.want || a.ID != c.id && c.want == Accepted || (a.Err == nil) != (c.err == "") || a.Err != nil && !strings.Contains(a.Err.Error(), c.err) {
				t.Errorf("%+v, want %+v", a, c)
			}
			if got != "POST /api/things Bearer x body 7<nil>" {
				t.Errorf("sent %s", got)
			}
		})
	}
	client := NewClient("http://127.0.0.1:1/api/things", 1, func(int) []byte { return nil }, nil)
	defer client.Close()
	if a := client.Send(t.Context(), 0); a.Outcome != Failed || a.Err == nil {
		t.Errorf("nobody there: %+v", a)
	}
}

func TestStateOfATransaction(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/things/t-1" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"id":"t-1","state":"Completed"}`)
	}))
	defer server.Close()
	client := NewClient(server.URL+"/api/things", 1, nil, nil)
	defer client.Close()
	if at, err := client.Status(t.Context(), "t-1"); at.State != "Completed" || err != nil {
		t.Errorf("%+v, %v", at, err)
	}
	if _, err := client.Status(t.Context(), "t-2"); err == nil || !strings.Contains(err.Error(), "t-2: status 404") {
		t.Errorf("%v", err)
	}
}
