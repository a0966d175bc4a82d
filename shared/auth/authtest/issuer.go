// Package authtest serves tests of identities over the real protocols: an
// issuer of tokens with its OpenID configuration and keys, and the endpoint
// where App Service gives tokens to an app's identity.
package authtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Audience is for whom the issuer's tokens are, unless a test says otherwise.
const Audience = "api://fabrikam-test"

// Tenant is the tenant of all callers.
const Tenant = "00000000-0000-0000-0000-0000000000aa"

// Issuer issues tokens on this machine. It is safe for concurrent use.
type Issuer struct {
	t      testing.TB
	server *httptest.Server
	down   atomic.Bool
	reads  atomic.Int64

	mu   sync.Mutex
	keys []*rsa.PrivateKey // the latest signs; all are published
	// publish, when set, is what is answered instead of the keys.
	publish []byte
}

// NewIssuer starts an issuer, which ends with the test.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t}
	i.keys = append(i.keys, keyAt(t, 0))
	i.server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.server.Close)
	return i
}

// URL is the issuer's name.
func (i *Issuer) URL() string { return i.server.URL + "/tenant/v2.0" }

// SetDown makes the issuer answer 503 to everything, or ends that.
func (i *Issuer) SetDown(down bool) { i.down.Store(down) }

// Reads returns how often the keys were read.
func (i *Issuer) Reads() int { return int(i.reads.Load()) }

// Publish answers a document of the test's instead of the keys.
func (i *Issuer) Publish(document string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.publish = []byte(document)
}

// Rotate signs with a new key from now on. The old ones stay valid.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, keyAt(i.t, len(i.keys)))
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var answer any
	switch r.URL.Path {
	case "/tenant/v2.0/.well-known/openid-configuration":
		answer = map[string]string{"issuer": i.URL(), "jwks_uri": i.server.URL + "/tenant/keys"}
	case "/tenant/keys":
		i.reads.Add(1)
		answer = map[string]any{"keys": i.published()}
		if i.publish != nil {
			answer = json.RawMessage(i.publish)
		}
	default:
		http.NotFound(w, r)
		return
	}
	if i.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		i.t.Error(err)
	}
}

func (i *Issuer) published() []map[string]string {
	var keys []map[string]string
	for n, key := range i.keys {
		keys = append(keys, map[string]string{
			"kid": keyID(n), "kty": "RSA", "use": "sig",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
		})
	}
	return keys
}

func keyID(n int) string { return fmt.Sprintf("key-%d", n) }

// Claims are those of a valid token of an application with the roles; the oid
// makes the caller. Tests change them before they are signed.
func (i *Issuer) Claims(oid string, roles ...string) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": i.URL(), "aud": Audience, "sub": oid, "oid": oid, "tid": Tenant, "roles": roles,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// Token returns a valid token of a caller with roles.
func (i *Issuer) Token(oid string, roles ...string) string {
	i.t.Helper()
	return i.Sign(i.Claims(oid, roles...))
}

// Sign signs claims with the latest key.
func (i *Issuer) Sign(claims jwt.Claims) string {
	i.t.Helper()
	return i.SignBy(jwt.SigningMethodRS256, claims)
}

// SignBy is Sign with another method, and with names and values that are added to
// the header.
func (i *Issuer) SignBy(method jwt.SigningMethod, claims jwt.Claims, header ...any) string {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	latest := len(i.keys) - 1
	return i.SignWith(method, keyID(latest), i.keys[latest], claims, header...)
}

// SignWith signs claims with any method and key, and names the key by that id.
func (i *Issuer) SignWith(method jwt.SigningMethod, id string, key any, claims jwt.Claims, header ...any) string {
	i.t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = id
	for n := 0; n < len(header); n += 2 {
		token.Header[header[n].(string)] = header[n+1]
	}
	text, err := token.SignedString(key)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// PublicKey returns the latest key as everyone can read it.
func (i *Issuer) PublicKey() *rsa.PublicKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &i.keys[len(i.keys)-1].PublicKey
}

// keys of this process: to make one takes long.
var made struct {
	sync.Mutex
	keys []*rsa.PrivateKey
}

func keyAt(t testing.TB, n int) *rsa.PrivateKey {
	made.Lock()
	defer made.Unlock()
	for len(made.keys) <= n {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		made.keys = append(made.keys, key)
	}
	return made.keys[n]
}
