// Package auth identifies callers, and this app to others: it checks access
// tokens of Microsoft Entra ID, and gets the tokens for this app's own calls.
// It also limits how many requests each caller may send (Limiter), and decides
// to which addresses a token may go (SafeAddress). Gate is all that a request has
// to pass.
//
// It checks a token's signature, with the issuer's published keys, and its
// issuer, audience and time. App Service authentication does the same before
// the Functions host; the handler is safe without it.
//
// Sources: RFC 7519 (JSON Web Token), RFC 7517 (JSON Web Key), OpenID Connect
// Discovery 1.0, RFC 8725 (best practices for tokens), RFC 6750 (bearer tokens);
// Microsoft Learn, "Access tokens in the Microsoft identity platform", "Access
// token claims reference" and "Signing key rollover in the Microsoft identity
// platform".
//
// Not here: signatures other than RS256, which Entra ID uses; encrypted tokens;
// more than one issuer.
//
// Reading order: gate.go (a request), verify.go (its token), keys.go (the issuer's keys),
// discovery.go (where they are found), identity.go and tokens.go (our own tokens), fetcher.go
// (how both are cached), limiter.go, transit.go.
package auth
