// Package issuer gives tokens to the callers of an app on this machine, and to the app
// itself, over the protocols of Entra ID and App Service: so that an app which wants
// tokens (AUTH_MODE entra) can be run here, with callers that it tells apart.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fabrikam/drone-delivery/shared/auth"
)

const (
	audience = "api://local"
	tenant   = "00000000-0000-0000-0000-000000000001"
	// clientID names the app's own identity.
	clientID = "00000000-0000-0000-0000-000000000002"
	keyName  = "local"
	keyBits  = 2048
	lifetime = 6 * time.Hour // of a token: longer than any run
)

// Issuer signs tokens. It is safe for concurrent use. Close must be called.
type Issuer struct {
	url    string
	key    *rsa.PrivateKey
	secret string // keeps other processes from the identity's endpoint
	server *http.Server
	served chan error
}

// Start starts an issuer on a free port of this machine, with a key of its own.
func Start() (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("start the issuer of tokens: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the issuer of tokens: %w", err)
	}
	i := &Issuer{url: "http://" + listener.Addr().String(), key: key, secret: rand.Text(), served: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.configuration)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /identity", i.identity)
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { i.served <- i.server.Serve(listener) }()
	return i, nil
}

// Close ends it.
func (i *Issuer) Close() error {
	err := i.server.Close()
	if served := <-i.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Settings are those with which an app takes the issuer's tokens, and gets its own.
// Any account may be used by any caller.
func (i *Issuer) Settings() map[string]string {
	return map[string]string{
		"AUTH_MODE": "entra", "AUTH_ISSUER": i.url, "AUTH_AUDIENCE": audience, "AUTH_ACCOUNT_CLAIM": "none",
		"BACKEND_AUDIENCE": audience, "BACKEND_CLIENT_ID": clientID,
		"IDENTITY_ENDPOINT": i.url + "/identity", "IDENTITY_HEADER": i.secret,
	}
}

// CallerID is what the app knows a caller by.
func CallerID(name string) string { return tenant + "/" + name }

// Token returns a token of a caller with roles.
func (i *Issuer) Token(name string, roles ...auth.Role) (string, error) {
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": i.url, "aud": audience, "sub": name, "oid": name, "tid": tenant, "roles": roles,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(lifetime).Unix(),
	})
	token.Header["kid"] = keyName
	return token.SignedString(i.key)
}

// configuration answers as OpenID Connect Discovery 1.0, section 4, says.
func (i *Issuer) configuration(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]string{"issuer": i.url, "jwks_uri": i.url + "/keys"})
}

// keys answers with the public key (RFC 7517).
func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"keys": []map[string]string{{
		"kid": keyName, "kty": "RSA", "use": "sig",
		"n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
}

// identity answers as the endpoint of an app's managed identity (Microsoft Learn, "How
// to use managed identities for App Service and Azure Functions", section "REST endpoint
// reference").
func (i *Issuer) identity(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.Header.Get("X-Identity-Header") != i.secret || query.Get("client_id") != clientID || query.Get("resource") != audience {
		http.Error(w, `{"message":"bad request"}`, http.StatusBadRequest)
		return
	}
	token, err := i.Token("workflow", auth.Scheduler)
	if err != nil {
		http.Error(w, `{"message":"the token can't be signed"}`, http.StatusInternalServerError)
		return
	}
	answer(w, map[string]string{
		"access_token": token, "client_id": clientID, "resource": audience, "token_type": "Bearer",
		"expires_on": strconv.FormatInt(time.Now().Add(lifetime).Unix(), 10),
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone can't be told that it is.
	_ = json.NewEncoder(w).Encode(v)
}
