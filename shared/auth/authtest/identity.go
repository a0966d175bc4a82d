package authtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// identityHeader is the secret that keeps other processes from the endpoint.
const identityHeader = "test-identity-header"

// Identity is the endpoint at which App Service gives tokens to the managed
// identity of an app (Microsoft Learn, "How to use managed identities for App
// Service and Azure Functions", section "REST endpoint reference"). azidentity
// finds it by Settings.
type Identity struct {
	// ClientID is that of the identity, another for each endpoint: azidentity
	// keeps tokens for the whole process.
	ClientID string

	server *httptest.Server
	roles  atomic.Pointer[[]string]
	down   atomic.Bool
	asked  atomic.Int64
}

// NewIdentity starts an endpoint whose tokens the issuer signs, for an identity
// with the roles. It ends with the test.
func NewIdentity(t testing.TB, issuer *Issuer, oid string, roles ...string) *Identity {
	t.Helper()
	i := &Identity{ClientID: uuid.NewString()}
	i.SetRoles(roles...)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		query := r.URL.Query()
		switch {
		case i.down.Load():
			http.Error(w, `{"message":"down"}`, http.StatusBadGateway)
			return
		case r.Header.Get("X-Identity-Header") != identityHeader, query.Get("api-version") != "2019-08-01",
			query.Get("resource") != Audience, query.Get("client_id") != i.ClientID:
			t.Errorf("the identity's endpoint was asked %s", r.URL)
			http.Error(w, `{"message":"bad request"}`, http.StatusBadRequest)
			return
		}
		claims := issuer.Claims(oid, *i.roles.Load()...)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]string{
			"access_token": issuer.Sign(claims), "client_id": i.ClientID, "resource": Audience, "token_type": "Bearer",
			"expires_on": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10),
		}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.server.Close)
	return i
}

// SetRoles gives the identity other roles in the tokens that it gets from now on.
func (i *Identity) SetRoles(roles ...string) { i.roles.Store(&roles) }

// SetDown makes the endpoint fail, or ends that.
func (i *Identity) SetDown(down bool) { i.down.Store(down) }

// Asked returns how often a token was asked for.
func (i *Identity) Asked() int { return int(i.asked.Load()) }

// Environment are the variables by which an app finds the endpoint.
func (i *Identity) Environment() map[string]string {
	return map[string]string{"IDENTITY_ENDPOINT": i.server.URL + "/msi/token", "IDENTITY_HEADER": identityHeader}
}
