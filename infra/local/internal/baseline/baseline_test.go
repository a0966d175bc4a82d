package baseline

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

// Ensure that a request goes through the proxy to the mux, and comes back.
func TestProxyAndMux(t *testing.T) {
	behind := httptest.NewServer(Mux("things"))
	defer behind.Close()
	proxy, err := Proxy(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/api/things", `{"a":1}`, 202, `{"transactionId":"1"}`},
		{"POST", "/api/things", `{"a":2}`, 202, `{"transactionId":"2"}`},
		{"POST", "/api/things", `{`, 400, "unexpected end of JSON input"},
		{"POST", "/api/others", `{}`, 404, "404 page not found"},
		{"GET", "/api/things", ``, 405, ""},
	} {
		if status, body := ask(t, c.method, front.URL+c.path, c.body); status != c.status || body != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	if _, err := Proxy("nowhere"); err == nil {
		t.Error("a proxy to nowhere")
	}
}

func TestMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Mock{Latency: 5 * time.Millisecond, Tail: 2 * time.Second, Share: 0.1, Answers: map[string]json.RawMessage{"stock": []byte(`{"left":1}`)}}
		slow := 0
		for range 1000 {
			begun := time.Now()
			w := httptest.NewRecorder()
			m.ServeHTTP(w, httptest.NewRequest("PUT", "/stock/7", strings.NewReader("{}")))
			if w.Code != 200 || w.Body.String() != `{"left":1}` {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			switch took := time.Since(begun); took {
			case 5 * time.Millisecond:
			case 2 * time.Second:
				slow++
			default:
				t.Fatalf("took %v", took)
			}
		}
		if slow < 50 || slow > 150 {
			t.Errorf("%d of 1000 were slow, want some 100", slow)
		}
		for method, want := range map[string]string{"GET": "200 {}", "DELETE": "204 "} {
			w := httptest.NewRecorder()
			m.ServeHTTP(w, httptest.NewRequest(method, "/other/7", nil))
			if got := http.StatusText(w.Code); w.Body.String() != want[4:] || !strings.HasPrefix(want, map[string]string{"OK": "200", "No Content": "204"}[got]) {
				t.Errorf("%s: %s %s", method, got, w.Body)
			}
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/stock/7", nil))
		if took := time.Since(begun); took != time.Millisecond {
			t.Errorf("it waited %v for a client that has gone", took)
		}
	})
}

// Ensure that a loop makes each transaction's calls in order, and counts the whole
// ones.
func TestLoop(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]string{}
	fail := false
	backends := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		step, id, _ := strings.Cut(r.URL.Path[1:], "/")
		calls[id] += r.Method + " " + step + " "
		io.WriteString(w, "{}")
	}))
	defer backends.Close()
	server := httptest.NewServer(NewLoop(backends.URL, []string{"a", "b"}, []byte("{}")))
	defer server.Close()
	status, body := ask(t, "POST", server.URL+"/?for=50ms", "")
	var done Done
	if err := json.Unmarshal([]byte(body), &done); status != 200 || err != nil || done.Done == 0 || done.Done != len(calls) {
		t.Errorf("%d %s, %v; %d were called", status, body, err, len(calls))
	}
	for id, made := range calls {
		if made != "PUT a PUT b " {
			t.Errorf("%s: %s", id, made)
		}
	}
	mu.Lock()
	fail = true
	mu.Unlock()
	if status, body := ask(t, "POST", server.URL+"/?for=50ms", ""); status != 502 || body != "step a: status 502: away" {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := ask(t, "POST", server.URL+"/?for=ever", ""); status != 400 {
		t.Errorf("%d", status)
	}
}

// Ensure that a mock that remembers tells which changes were asked for again.
func TestMockTellsOfCallsAgain(t *testing.T) {
	m := Mock{Calls: NewCalls()}
	call := func(method, path string) string {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("{}")))
		return w.Body.String()
	}
	for _, c := range []string{"PUT /stock/7", "PUT /stock/7", "DELETE /stock/7", "PUT /stock/8", "GET /stock/7", "GET /stock/7", "PUT /stock/7"} {
		method, path, _ := strings.Cut(c, " ")
		call(method, path)
	}
	if got := call("GET", "/calls"); got != `{"different":3,"again":2,"byStep":{"stock":3}}`+"\n" {
		t.Errorf("%s", got)
	}
}
