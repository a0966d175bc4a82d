package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const (
	// renewBefore is how long before its end a token is replaced. Nobody waits
	// for that.
	renewBefore = 5 * time.Minute
	// renewPause is between attempts at it, while the old token is good.
	renewPause = 30 * time.Second
	// tokenTimeout bounds one attempt. It is longer than a call may take: who
	// gives up on it leaves it to those who come later.
	tokenTimeout = 30 * time.Second
)

// Tokens are the tokens of this app's identity for one audience: one at a time,
// until it is about to end. They are safe for concurrent use. Close must be
// called.
type Tokens struct {
	scope  string
	now    func() time.Time
	tokens *fetcher[azcore.AccessToken]
}

// NewTokens returns the tokens for an audience, such as "api://<client id>",
// that the credential gives. now is safe for concurrent use.
func NewTokens(credential azcore.TokenCredential, audience string, now func() time.Time) *Tokens {
	scope := audience + "/.default"
	return &Tokens{scope: scope, now: now, tokens: newFetcher(tokenTimeout, now, func(ctx context.Context) (azcore.AccessToken, error) {
		return credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	})}
}

// Close ends an attempt under way and waits for it.
func (t *Tokens) Close() { t.tokens.close() }

// Token returns a token that is good for a while. It waits only when there is
// none, for as long as ctx lasts.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	token, _ := t.tokens.get()
	left := token.ExpiresOn.Sub(t.now())
	switch {
	case left > renewBefore:
	case left > Leeway:
		t.tokens.refresh(renewPause, renewPause) // for those who come later
	default:
		if err := t.tokens.refresh(0, 0).wait(ctx); err != nil {
			return "", fmt.Errorf("token for %s: %w", t.scope, err)
		}
		token, _ = t.tokens.get()
	}
	return token.Token, nil
}
