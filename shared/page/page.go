package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the files
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Path is where the page is, below the route prefix. Its files are below it.
const Path = "ops"

//go:embed index.html
var indexHTML []byte

//go:embed page.css
var pageCSS []byte

//go:embed page.js
var pageJS []byte

// Config is what the script must know before anyone has signed in. Anyone may
// read it.
type Config struct {
	Name string            `json:"name"` // the business's
	Auth settings.AuthMode `json:"auth"`
	// With tokens: who signs them, and the client id that the script signs in as. It
	// is empty if no audience is one.
	Issuer   string `json:"issuer,omitempty"`
	ClientID string `json:"clientId,omitempty"`
}

// newConfig returns what the settings say. Of the audiences, the client id is the one that
// is no URI: tokens of version 2 name it, those of version 1 the URI (Microsoft
// Learn, "Access token claims reference", aud).
func newConfig(name string, a settings.Auth) Config {
	c := Config{Name: name, Auth: a.Mode}
	if a.Mode == settings.AuthEntra {
		c.Issuer = a.Issuer
		if i := slices.IndexFunc(a.Audiences, func(audience string) bool { return !strings.Contains(audience, "://") }); i >= 0 {
			c.ClientID = a.Audiences[i]
		}
	}
	return c
}

// policy is the content security policy. Scripts and styles come from the page's
// own files, and data from the app; with tokens, the script also talks to the
// issuer. Nothing may frame the page, and no text can become markup or script.
func (c Config) policy() string {
	connect := "'self'"
	if scheme, rest, ok := strings.Cut(c.Issuer, "://"); ok { // the settings see to it that it is a URL
		host, _, _ := strings.Cut(rest, "/")
		connect += " " + scheme + "://" + host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// Endpoints serve the page of a business.
func Endpoints(name string, a settings.Auth) []business.Endpoint {
	c := newConfig(name, a)
	get := func(path string, handle func(http.ResponseWriter, *http.Request) error) business.Endpoint {
		return business.Endpoint{Method: http.MethodGet, Path: path, Handle: handle}
	}
	return []business.Endpoint{
		get(Path, serve("text/html", indexHTML, c.policy())),
		get(Path+"/page.css", serve("text/css", pageCSS, c.policy())),
		get(Path+"/page.js", serve("text/javascript", pageJS, c.policy())),
		get(Path+"/config", func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Cache-Control", "no-store")
			return record.WriteJSON(w, http.StatusOK, c)
		}),
	}
}

// serve answers with a file. Browsers ask for it each time, and get it if it has changed.
func serve(mediaType string, content []byte, policy string) func(http.ResponseWriter, *http.Request) error {
	sum := sha256.Sum256(content)
	header := map[string]string{
		"Content-Type": mediaType + "; charset=utf-8", "ETag": `"` + hex.EncodeToString(sum[:16]) + `"`, "Cache-Control": "no-cache",
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return nil
	}
}
