package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/golang-jwt/jwt/v5"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/auth/authtest"
)

var signing = jwt.SigningMethodRS256

func stranger(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Ensure that the identity's token is got as azidentity gets it in App Service,
// and is one that a verifier takes.
func TestTokenOfAManagedIdentity(t *testing.T) {
	b := newBench(t)
	identity := authtest.NewIdentity(t, b.issuer, "workflow", "Scheduler")
	for name, value := range identity.Environment() {
		t.Setenv(name, value)
	}
	credential, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ID: azidentity.ClientID(identity.ClientID)})
	if err != nil {
		t.Fatal(err)
	}
	tokens := auth.NewTokens(credential, authtest.Audience, time.Now)
	defer tokens.Close()
	for range 3 {
		token, err := tokens.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c, err := b.verifier.Verify(t.Context(), token); err != nil || !c.Has(auth.Scheduler) {
			t.Errorf("got %+v, %v", c, err)
		}
	}
	if n := identity.Asked(); n != 1 {
		t.Errorf("%d tokens were asked for, want one", n)
	}
}

// credential gives tokens that are good for an hour, or fails, and can be held.
type credential struct {
	now  func() time.Time
	hold chan struct{} // when set, GetToken waits for it

	mu     sync.Mutex
	err    error
	scopes []string // of all calls
}

func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = append(c.scopes, o.Scopes...)
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return azcore.AccessToken{}, ctx.Err()
		}
	}
	return azcore.AccessToken{Token: "token", ExpiresOn: c.now().Add(time.Hour)}, c.err
}

func (c *credential) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scopes
}

func (c *credential) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	now := &clock{at: time.Now()}
	c := &credential{now: now.Now}
	tokens := auth.NewTokens(c, "api://b", now.Now)
	ask := func(want int) {
		t.Helper()
		if token, err := tokens.Token(t.Context()); err != nil || token != "token" {
			t.Errorf("got %q, %v", token, err)
		}
		if asked := c.asked(); len(asked) > want {
			t.Errorf("asked for %q, want %d", asked, want)
		}
	}
	ask(1)
	now.advance(54 * time.Minute)
	ask(1)
	now.advance(2 * time.Minute) // less than five minutes are left
	ask(2)
	tokens.Close() // waits for the new one
	if asked := c.asked(); len(asked) != 2 || asked[1] != "api://b/.default" {
		t.Errorf("asked for %q", asked)
	}
	now.advance(30 * time.Minute)
	ask(2)
}

// Ensure that a token that is still good outlives an outage, and one that is not
// does not.
func TestTokenOutlivesAnOutage(t *testing.T) {
	now := &clock{at: time.Now()}
	c := &credential{now: now.Now}
	tokens := auth.NewTokens(c, "api://b", now.Now)
	defer tokens.Close()
	if _, err := tokens.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	down := errors.New("the endpoint is down")
	c.fail(down)
	now.advance(58 * time.Minute)
	if token, err := tokens.Token(t.Context()); err != nil || token != "token" {
		t.Errorf("got %q, %v", token, err)
	}
	now.advance(2 * time.Minute)
	if _, err := tokens.Token(t.Context()); !errors.Is(err, down) || !strings.Contains(err.Error(), "api://b") {
		t.Errorf("got %v", err)
	}
	c.fail(nil)
	if token, err := tokens.Token(t.Context()); err != nil || token != "token" {
		t.Errorf("after the outage: got %q, %v", token, err)
	}
}

// Ensure that a call that has no time for the token leaves it to the next one.
func TestTokenThatTakesLongerThanACall(t *testing.T) {
	c := &credential{now: time.Now, hold: make(chan struct{})}
	tokens := auth.NewTokens(c, "api://b", time.Now)
	defer tokens.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, err := tokens.Token(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	close(c.hold)
	if token, err := tokens.Token(t.Context()); err != nil || token != "token" {
		t.Errorf("got %q, %v", token, err)
	}
	if asked := c.asked(); len(asked) != 1 {
		t.Errorf("asked %d times, want once", len(asked))
	}
}
