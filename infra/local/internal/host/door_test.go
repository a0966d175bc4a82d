package host

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// asPage sends a request as a page in a browser can, and returns the status.
func (f *fixture) asPage(t *testing.T, method, path, body, contentType string, change func(*http.Request)) int {
	t.Helper()
	req, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	change(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// Ensure that a web page, of another origin or behind a rebound name, can neither
// run a function nor call one, and that the handler hears nothing of it; it may lead
// a browser to a page of the app.
func TestPagesDriveNothing(t *testing.T) {
	calls := make(chan call, 100)
	f := start(t, spec{proxy: true, functions: map[string]string{"Sweep": timerFn, "P": httpFunctionJSON("anonymous", `"post"`, "p"),
		"Page": httpFunctionJSON("anonymous", `"get"`, "page"), "Data": httpFunctionJSON("anonymous", `"get"`, "data")},
		change: func(c *Config) { c.Pages = []string{"/api/page"} },
		answer: func(w http.ResponseWriter, r *http.Request) {
			calls <- readCall(r)
			ok(w, r)
		}})
	origin := func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }
	rebound := func(r *http.Request) {
		r.Host = "evil.example:7071"
		r.Header.Set("Origin", "http://evil.example:7071")
	}
	plain := func(*http.Request) {}
	for _, tc := range []struct {
		what, path, contentType string
		change                  func(*http.Request)
		want                    int
	}{
		{"a page runs a function", "/admin/functions/Sweep", "text/plain", origin, http.StatusForbidden},
		{"a rebound name runs a function", "/admin/functions/Sweep", "application/json", rebound, http.StatusForbidden},
		{"text runs a function", "/admin/functions/Sweep", "text/plain", plain, http.StatusUnsupportedMediaType},
		{"a form runs a function", "/admin/functions/Sweep", "application/x-www-form-urlencoded", plain, http.StatusUnsupportedMediaType},
		{"a page calls a function", "/api/p", "text/plain", origin, http.StatusForbidden},
		{"a rebound name calls a function", "/api/p", "application/json", rebound, http.StatusForbidden},
	} {
		if got := f.asPage(t, "POST", tc.path, `{"input":""}`, tc.contentType, tc.change); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.what, got, tc.want)
		}
	}
	for path, want := range map[string]int{"/api/page": http.StatusOK, "/api/data": http.StatusForbidden} {
		led := func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		}
		if got := f.asPage(t, "GET", path, "", "", led); got != want {
			t.Errorf("a page leads to %s: %d, want %d", path, got, want)
		}
	}
	if c := receive(t, calls); c.path != "/api/page" {
		t.Errorf("the handler was called: %s", c.path)
	}
	if status, _ := f.do(t, "POST", "/api/p", "{}"); status != http.StatusOK {
		t.Errorf("a program calls a function: %d", status)
	}
	if c := receive(t, calls); c.path != "/api/p" {
		t.Errorf("the handler was called: %s", c.path)
	}
	if len(calls) != 0 {
		t.Error("the handler was called besides")
	}
}

// Ensure that /admin wants the master key as soon as there is one, whatever the
// functions want.
func TestAdminWantsItsKey(t *testing.T) {
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, change: func(c *Config) { c.MasterKey, c.HostKey = "mk", "hk" }})
	for key, want := range map[string]int{"": 401, "hk": 401, "mk": 202} {
		if status, _ := f.do(t, "POST", "/admin/functions/Sweep", "{}", "x-functions-key", key); status != want {
			t.Errorf("with key %q: %d, want %d", key, status, want)
		}
	}
	f.logs.until(t, "Executed 'Functions.Sweep' (Succeeded)")
}
