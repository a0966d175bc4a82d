package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Role is an app role, as it is in the claim "roles" of a token: a permission
// that the tenant's administrators give to people and applications.
type Role string

// The roles.
const (
	Client    Role = "Client"    // asks for deliveries, and sees its own
	Scheduler Role = "Scheduler" // calls the backends: the workflow's own identity
	Operator  Role = "Operator"  // looks after all transactions
)

// Leeway is how far the clocks of the issuer and of this machine may be apart.
const Leeway = time.Minute

// maxSubject bounds the id of a caller, in bytes: it is stored with all that the
// caller asks for.
const maxSubject = 200

// Caller is who calls.
type Caller struct {
	// ID is opaque, and the same in every token of one person or application:
	// tenant and object, or the subject where there is no object.
	ID    string
	Roles []Role
	// Accounts are the values of the token's claim that names accounts.
	Accounts []string
}

// Has reports whether the caller has one of the roles.
func (c Caller) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(c.Roles, r) })
}

// The reasons for which a token is not taken. Test with errors.Is.
var (
	// ErrInvalid is returned for a token that is malformed, not signed by the
	// issuer, for somebody else, or out of time.
	ErrInvalid = errors.New("invalid token")
	// ErrNoKeys is returned while a token can't be judged, since the issuer's
	// keys can't be had. It may be valid.
	ErrNoKeys = errors.New("the issuer's keys are out of reach")
)

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	keys          *Keys
	parser        *jwt.Parser
	accountsClaim string
}

// NewVerifier returns a Verifier of the issuer's tokens for any of the
// audiences, of which there must be one. accountsClaim is the claim whose text, or
// list of texts, are the caller's accounts.
func NewVerifier(issuer string, audiences []string, accountsClaim string, keys *Keys, now func() time.Time) (*Verifier, error) {
	if issuer == "" || len(audiences) == 0 || slices.Contains(audiences, "") {
		return nil, errors.New("verifier of tokens: an issuer and its audiences are required") // nothing would be checked without
	}
	return &Verifier{keys: keys, accountsClaim: accountsClaim, parser: jwt.NewParser(
		// The algorithm is ours to choose, not the token's: with "none", or with
		// HS256 and the public key, anyone could sign (RFC 8725, section 3.1).
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audiences...),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(now),
		jwt.WithStrictDecoding(),
	)}, nil
}

// claims are what is read of a token.
type claims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tid"`
	Object string `json:"oid"`
	Roles  []Role `json:"roles"`

	all map[string]json.RawMessage
}

// UnmarshalJSON reads what has a field, and keeps the rest as it is.
func (c *claims) UnmarshalJSON(data []byte) error {
	type fields claims
	return errors.Join(json.Unmarshal(data, (*fields)(c)), json.Unmarshal(data, &c.all))
}

// texts returns the values of a claim that is a text or a list of texts; none for
// any other.
func (c *claims) texts(name string) []string {
	var one string
	if json.Unmarshal(c.all[name], &one) == nil && one != "" {
		return []string{one}
	}
	var all []string
	if json.Unmarshal(c.all[name], &all) != nil {
		return nil
	}
	return all
}

// Verify returns whose token it is. The error is ErrInvalid or ErrNoKeys; its
// text says why, and is for the log.
func (v *Verifier) Verify(ctx context.Context, token string) (Caller, error) {
	var c claims
	_, err := v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical { // RFC 7515, section 4.1.11: not understood, not taken
			return nil, errors.New("the token has extensions that must be understood")
		}
		id, ok := t.Header["kid"].(string)
		if !ok || id == "" {
			return nil, errors.New("the token names no key")
		}
		return v.keys.Key(ctx, id)
	})
	switch {
	case errors.Is(err, ErrNoKeys):
		return Caller{}, err
	case err != nil:
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	id, err := c.subject()
	if err != nil {
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return Caller{ID: id, Roles: c.Roles, Accounts: c.texts(v.accountsClaim)}, nil
}

// subject is the id of the caller: "oid" is the same for one person or
// application in all apps of a tenant, "sub" for one app alone (Microsoft Learn,
// "Access token claims reference").
func (c *claims) subject() (string, error) {
	id := c.Subject
	if c.Tenant != "" && c.Object != "" {
		id = c.Tenant + "/" + c.Object
	}
	if id == "" || len(id) > maxSubject {
		return "", fmt.Errorf("its subject has %d bytes; allowed: 1 to %d", len(id), maxSubject)
	}
	return id, nil
}
