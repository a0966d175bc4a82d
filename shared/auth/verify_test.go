package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/auth/authtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ada = "ada-object"

// bench is a verifier of an issuer on this machine, by a clock that a test moves.
type bench struct {
	issuer   *authtest.Issuer
	keys     *auth.Keys
	verifier *auth.Verifier
	now      *clock
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{issuer: authtest.NewIssuer(t), now: &clock{at: time.Now()}}
	var err error
	b.keys, err = auth.NewKeys(b.issuer.URL(), b.now.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.keys.Close)
	b.verifier, err = auth.NewVerifier(b.issuer.URL(), []string{"api://another", authtest.Audience}, "accounts", b.keys, b.now.Now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) want(t *testing.T, token string, want error) {
	t.Helper()
	if _, err := b.verifier.Verify(t.Context(), token); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestValidToken(t *testing.T) {
	b := newBench(t)
	c, err := b.verifier.Verify(t.Context(), b.issuer.Token(ada, "Client", "Reader"))
	if err != nil || c.ID != authtest.Tenant+"/"+ada || !slices.Equal(c.Roles, []auth.Role{"Client", "Reader"}) {
		t.Errorf("got %+v, %v", c, err)
	}
	if !c.Has(auth.Operator, auth.Client) || c.Has(auth.Operator) || c.Has() {
		t.Errorf("roles %q", c.Roles)
	}
}

// Ensure that each thing a token must say is asked for: every row differs from a
// valid token in one thing.
func TestTokensThatAreNotTaken(t *testing.T) {
	b := newBench(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(b.issuer.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	claims := func(change ...any) jwt.MapClaims {
		c := b.issuer.Claims(ada, "Client")
		for i := 0; i < len(change); i += 2 {
			if c[change[i].(string)] = change[i+1]; change[i+1] == nil {
				delete(c, change[i].(string))
			}
		}
		return c
	}
	now := b.now.Now()
	good := b.issuer.Token(ada, "Client")
	parts := strings.Split(good, ".")
	other := strings.Split(b.issuer.Token("bob-object", "Operator"), ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, token := range map[string]string{
		"nothing":                   "",
		"rubbish":                   "rubbish",
		"two parts":                 parts[0] + "." + parts[1],
		"four parts":                good + ".x",
		"no base64":                 parts[0] + ".!!." + parts[2],
		"no JSON":                   header("x") + "." + parts[1] + "." + parts[2],
		"expired":                   b.issuer.Sign(claims("exp", now.Add(-61*time.Second).Unix())),
		"without an end":            b.issuer.Sign(claims("exp", nil)),
		"with an odd end":           b.issuer.Sign(claims("exp", "soon")),
		"not yet valid":             b.issuer.Sign(claims("nbf", now.Add(62*time.Second).Unix())),
		"for another audience":      b.issuer.Sign(claims("aud", "api://elsewhere")),
		"for other audiences":       b.issuer.Sign(claims("aud", []string{"api://elsewhere", authtest.Audience + "/"})),
		"without an audience":       b.issuer.Sign(claims("aud", nil)),
		"of another issuer":         b.issuer.Sign(claims("iss", "https://login.microsoftonline.com/common/v2.0")),
		"of an issuer much alike":   b.issuer.Sign(claims("iss", b.issuer.URL()+"/")),
		"without an issuer":         b.issuer.Sign(claims("iss", nil)),
		"of nobody":                 b.issuer.Sign(claims("oid", nil, "sub", nil)),
		"of somebody long":          b.issuer.Sign(claims("oid", strings.Repeat("x", 200))),
		"not signed":                b.issuer.SignWith(jwt.SigningMethodNone, "key-0", jwt.UnsafeAllowNoneSignatureType, claims()),
		"signed with the public":    b.issuer.SignWith(jwt.SigningMethodHS256, "key-0", public, claims()),
		"signed with RS384":         b.issuer.SignBy(jwt.SigningMethodRS384, claims()),
		"signed with PS256":         b.issuer.SignBy(jwt.SigningMethodPS256, claims()),
		"signed by a stranger":      b.issuer.SignWith(jwt.SigningMethodRS256, "key-0", stranger, claims()),
		"signed with no key":        b.issuer.SignWith(jwt.SigningMethodRS256, "", stranger, claims()),
		"signed with an odd key":    b.issuer.SignWith(jwt.SigningMethodRS256, "key-9", stranger, claims()),
		"another's signature":       parts[0] + "." + other[1] + "." + parts[2],
		"without a signature":       parts[0] + "." + parts[1] + ".",
		"an algorithm of its own":   header(`{"alg":"ES512","kid":"key-0"}`) + "." + parts[1] + "." + parts[2],
		"extensions to be obeyed":   b.issuer.SignBy(jwt.SigningMethodRS256, claims(), "crit", []string{"x"}, "x", true),
		"a key that is no text":     header(`{"alg":"RS256","kid":0}`) + "." + parts[1] + "." + parts[2],
		"roles that are no list":    b.issuer.Sign(claims("roles", "Client")),
		"a signature in odd base64": good + "=",
	} {
		t.Run(name, func(t *testing.T) { b.want(t, token, auth.ErrInvalid) })
	}
	b.want(t, good, nil)
}

// Ensure that a minute between the clocks does no harm.
func TestLeeway(t *testing.T) {
	b := newBench(t)
	now := b.now.Now()
	claims := b.issuer.Claims(ada)
	claims["exp"] = now.Add(-58 * time.Second).Unix()
	b.want(t, b.issuer.Sign(claims), nil)
	claims = b.issuer.Claims(ada)
	claims["nbf"] = now.Add(58 * time.Second).Unix()
	b.want(t, b.issuer.Sign(claims), nil)
}

func TestCallersOfOneIssuerAreApart(t *testing.T) {
	b := newBench(t)
	ids := map[string]bool{}
	for _, change := range []map[string]any{
		{}, {"oid": "bob"}, {"tid": "another"}, {"oid": nil, "sub": "ada-subject"}, {"tid": nil, "sub": "ada-here"},
	} {
		claims := b.issuer.Claims(ada)
		for name, value := range change {
			if claims[name] = value; value == nil {
				delete(claims, name)
			}
		}
		c, err := b.verifier.Verify(t.Context(), b.issuer.Sign(claims))
		if err != nil || c.ID == "" || ids[c.ID] {
			t.Errorf("%v: got %+v, %v", change, c, err)
		}
		ids[c.ID] = true
	}
}

func TestVerifierWantsAnIssuerAndAudiences(t *testing.T) {
	for _, c := range []struct {
		issuer    string
		audiences []string
	}{{"", []string{"a"}}, {"https://i", nil}, {"https://i", []string{"a", ""}}} {
		if _, err := auth.NewVerifier(c.issuer, c.audiences, "oid", nil, time.Now); err == nil {
			t.Errorf("%+v is taken, so that nothing would be checked", c)
		}
	}
}

// BenchmarkVerify is what a request costs more with a token: mostly the check of
// an RSA signature.
func BenchmarkVerify(b *testing.B) {
	issuer := authtest.NewIssuer(b)
	keys, err := auth.NewKeys(issuer.URL(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer keys.Close()
	verifier, err := auth.NewVerifier(issuer.URL(), []string{authtest.Audience}, "oid", keys, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	token := issuer.Token(ada, "Client")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := verifier.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
