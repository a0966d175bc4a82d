package door_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
)

// Ensure that a listener serves programs that call it by its own names, and
// neither a rebound name nor a page of another origin.
func TestGuard(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what, bound, host string
		header            map[string]string
		served            bool
	}{
		{"by address", "127.0.0.1:7071", "127.0.0.1:7071", nil, true},
		{"by name", "127.0.0.1:7071", "localhost:7071", nil, true},
		{"by name in capitals", "127.0.0.1:7071", "LOCALHOST:7071", nil, true},
		{"through a forwarded port", "127.0.0.1:7071", "localhost:9999", nil, true},
		{"without a port", "127.0.0.1:80", "localhost", nil, true},
		{"by IPv6", "[::1]:7071", "[::1]:7071", nil, true},
		{"by IPv6 without a port", "[::1]:80", "[::1]", nil, true},
		{"by the address that was bound", "192.0.2.7:7071", "192.0.2.7:7071", nil, true},
		{"by another address", "192.0.2.7:7071", "192.0.2.8:7071", nil, false},
		{"by an address that was not bound", "127.0.0.1:7071", "192.0.2.7:7071", nil, false},
		{"all addresses, by one", "0.0.0.0:7071", "192.0.2.7:7071", nil, true},
		{"all addresses, IPv6", "[::]:7071", "192.0.2.7:7071", nil, true},
		{"all addresses, by the machine's name", "0.0.0.0:7071", machine + ":7071", nil, true},
		{"all addresses, by a rebound name", "0.0.0.0:7071", "evil.example:7071", nil, false},
		{"by a rebound name", "127.0.0.1:7071", "evil.example:7071", nil, false},
		{"by a name that begins like ours", "127.0.0.1:7071", "localhost.evil.example:7071", nil, false},
		{"by an address in a name", "127.0.0.1:7071", "127.0.0.1.evil.example", nil, false},
		{"without a Host", "127.0.0.1:7071", "", nil, false},
		{"its own page", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": "http://localhost:7071"}, true},
		{"its own page, fetched", "127.0.0.1:7071", "localhost:7071", map[string]string{"Sec-Fetch-Site": "same-origin"}, true},
		{"typed into the browser", "127.0.0.1:7071", "localhost:7071", map[string]string{"Sec-Fetch-Site": "none"}, true},
		{"a page elsewhere", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": "https://evil.example"}, false},
		{"a page in a sandbox", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": "null"}, false},
		{"a page without a name", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": ""}, false},
		{"a page of another local port", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": "http://localhost:3000"}, false},
		{"a page over TLS", "127.0.0.1:7071", "localhost:7071", map[string]string{"Origin": "https://localhost:7071"}, false},
		{"an image elsewhere", "127.0.0.1:7071", "localhost:7071", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{"an image of another local port", "127.0.0.1:7071", "localhost:7071", map[string]string{"Sec-Fetch-Site": "same-site"}, false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			served := false
			next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.Host = tc.host
			for name, value := range tc.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			door.Guard(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tc.bound)), next).ServeHTTP(w, r)
			if served != tc.served || served == (w.Code == http.StatusForbidden) {
				t.Errorf("served %t, answered %d: want served %t", served, w.Code, tc.served)
			}
		})
	}
}

// Ensure that another origin leads a browser's tab to a page of the listener, and
// nothing else anywhere.
func TestGuardOfAPage(t *testing.T) {
	for _, tc := range []struct {
		what, method, path, site, mode, dest, origin string
		served                                       bool
	}{
		{"the issuer, at the end of a sign-in", "GET", "/api/ops?code=1&state=2", "cross-site", "navigate", "document", "", true},
		{"an issuer on this machine", "GET", "/api/ops", "same-site", "navigate", "document", "", true},
		{"a frame", "GET", "/api/ops", "cross-site", "navigate", "iframe", "", false},
		{"a form", "POST", "/api/ops", "cross-site", "navigate", "document", "", false},
		{"a script", "GET", "/api/ops", "cross-site", "no-cors", "script", "", false},
		{"a fetch", "GET", "/api/ops", "cross-site", "cors", "empty", "https://evil.example", false},
		{"an Origin", "GET", "/api/ops", "cross-site", "navigate", "document", "https://evil.example", false},
		{"a link to data", "GET", "/api/operations/status", "cross-site", "navigate", "document", "", false},
		{"a link to what is below", "GET", "/api/ops/config", "cross-site", "navigate", "document", "", false},
	} {
		served := false
		next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })
		r := httptest.NewRequest(tc.method, tc.path, nil)
		r.Host = "localhost:7071"
		for name, value := range map[string]string{"Sec-Fetch-Site": tc.site, "Sec-Fetch-Mode": tc.mode, "Sec-Fetch-Dest": tc.dest, "Origin": tc.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:7071"))
		door.Guard(at, next, "/api/ops").ServeHTTP(httptest.NewRecorder(), r)
		if served != tc.served {
			t.Errorf("%s: served %t", tc.what, served)
		}
	}
}
