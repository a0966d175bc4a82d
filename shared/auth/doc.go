// Package auth finds out who calls, and says who we are: it checks the access
// tokens of Microsoft Entra ID, and gets the ones that this app calls others
// with. It also limits how many requests each caller may send (Limiter), and says
// to which addresses a token may go (SafeAddress).
//
// A token is checked by its signature, with the keys that its issuer publishes,
// and by its issuer, its audience and its time. App Service authentication does
// the same before the Functions host; the handler does not depend on it being
// switched on.
//
// Sources: RFC 7519 (JSON Web Token), RFC 7517 (JSON Web Key), OpenID Connect
// Discovery 1.0, RFC 8725 (best practices for tokens), RFC 6750 (bearer tokens);
// Microsoft Learn, "Access tokens in the Microsoft identity platform", "Access
// token claims reference" and "Signing key rollover in the Microsoft identity
// platform".
//
// Not here: tokens that are signed with anything but RS256, which is what Entra
// ID signs with; encrypted tokens; more than one issuer.
//
// Reading order: verify.go (the token), keys.go (the issuer's keys), discovery.go
// (where they are found), tokens.go (our own tokens), fetcher.go (how both are
// kept), limiter.go, transit.go.
package auth
