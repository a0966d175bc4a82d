package page_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/page"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// get asks the page for a path.
func get(t *testing.T, a settings.Auth, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	for _, e := range page.Endpoints("drone-delivery", a) {
		if e.Path == path {
			if err := e.Handle(w, r); err != nil {
				t.Fatal(err)
			}
			return w
		}
	}
	t.Fatalf("nothing at %s", path)
	return nil
}

// entra is with tokens, from an issuer with a path.
var entra = settings.Auth{Mode: settings.AuthEntra, Issuer: "https://login.example.com/tenant/v2.0", Audiences: []string{"api://client-1", "client-1"}}

// Ensure that each file comes with what keeps other content out of the page, and
// the page out of others.
func TestHeaders(t *testing.T) {
	for path, mediaType := range map[string]string{"ops": "text/html; charset=utf-8", "ops/page.css": "text/css; charset=utf-8", "ops/page.js": "text/javascript; charset=utf-8"} {
		w := get(t, settings.Auth{Mode: settings.AuthOff}, path)
		const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
			"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
		for name, want := range map[string]string{
			"Content-Type": mediaType, "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if w.Code != http.StatusOK || w.Body.Len() < 1000 || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, %d bytes, cookie %q", path, w.Code, w.Body.Len(), w.Header().Get("Set-Cookie"))
		}
		again := get(t, settings.Auth{Mode: settings.AuthOff}, path, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s, unchanged: %d, %d bytes", path, again.Code, again.Body.Len())
		}
	}
}

// Ensure that with tokens, and then only, the script may also talk to the issuer.
func TestIssuerIsReached(t *testing.T) {
	if got := get(t, entra, "ops").Header().Get("Content-Security-Policy"); !strings.Contains(got, "connect-src 'self' https://login.example.com;") {
		t.Errorf("got %q", got)
	}
	keys := settings.Auth{Mode: settings.AuthKeys, Issuer: entra.Issuer}
	if got := get(t, keys, "ops").Header().Get("Content-Security-Policy"); strings.Contains(got, "login.example.com") {
		t.Errorf("with keys: %q", got)
	}
}

// Ensure that anyone learns how operators sign in, and nothing else.
func TestConfig(t *testing.T) {
	for want, a := range map[string]settings.Auth{
		`{"name":"drone-delivery","auth":"off"}`:  {Mode: settings.AuthOff},
		`{"name":"drone-delivery","auth":"keys"}`: {Mode: settings.AuthKeys, Issuer: entra.Issuer, Audiences: entra.Audiences},
		`{"name":"drone-delivery","auth":"entra","issuer":"https://login.example.com/tenant/v2.0","clientId":"client-1"}`: entra,
		`{"name":"drone-delivery","auth":"entra","issuer":"https://login.example.com/tenant/v2.0"}`:                       {Mode: settings.AuthEntra, Issuer: entra.Issuer, Audiences: []string{"api://client-1"}},
	} {
		w := get(t, a, "ops/config")
		if got := strings.TrimSpace(w.Body.String()); got != want || !json.Valid([]byte(got)) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("got %s %q, want %s", got, w.Header(), want)
		}
	}
}

// sinks are the ways by which a text becomes markup, script or style, and those by which
// a secret outlives the page.
var sinks = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|createContextualFragment|DOMParser|srcdoc|javascript:|` +
	`\beval\b|\bFunction\(|import\(|set(Timeout|Interval)\(['"` + "`" + `]|\.style\b|['"]style['"]|cssText|document\.cookie|localStorage|indexedDB`)

// inline is what the content security policy refuses in the markup.
var inline = regexp.MustCompile(`<style|\sstyle=|\son[a-z]+=|javascript:|<script(>|[^>]* src="(https?:)?//)|<(iframe|object|embed|base|img)\b`)

// maxScript is how large the script may be, in bytes.
const maxScript = 30 << 10

// Ensure that the script is small, and has no way to make markup or script of a
// text; and that the markup has neither script nor style in it.
func TestNoWayToMarkup(t *testing.T) {
	script, err := os.ReadFile("page.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(script) > maxScript {
		t.Errorf("page.js has %d bytes, more than %d", len(script), maxScript)
	}
	if !strings.Contains(string(script), "'use strict'") {
		t.Error("page.js is not strict")
	}
	if found := sinks.FindAllString(string(script), -1); found != nil {
		t.Errorf("page.js has %q", found)
	}
	markup, err := os.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	if found := inline.FindAllString(string(markup), -1); found != nil {
		t.Errorf("index.html has %q", found)
	}
}

// Ensure that the check of the script finds what it is for.
func TestSinksAreFound(t *testing.T) {
	for _, bad := range []string{
		"x.innerHTML = y", "x.outerHTML=y", "x.insertAdjacentHTML('beforeend', y)", "document.write(y)", "eval(y)", "new Function(y)", `setTimeout("y")`,
		"x.style.color = y", "x.setAttribute('style', y)", "document.cookie = y", "localStorage.token = y", "import(y)", "new DOMParser()", "a.href = 'javascript:y'",
	} {
		if !sinks.MatchString(bad) {
			t.Errorf("%s passes", bad)
		}
	}
	for _, bad := range []string{"<style>", `<p style="color:red">`, `<p onclick="x()">`, "<script>x()</script>", `<script src="https://example.com/x.js">`, `<base href="/">`} {
		if !inline.MatchString(bad) {
			t.Errorf("%s passes", bad)
		}
	}
}
