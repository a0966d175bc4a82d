package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/auth/authtest"
)

// clock is a clock that only moves when it is told to. It is safe for concurrent
// use.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (b *bench) wantReads(t *testing.T, want int) {
	t.Helper()
	if got := b.issuer.Reads(); got != want {
		t.Errorf("the keys were read %d times, want %d", got, want)
	}
}

func TestKeysAreReadOnce(t *testing.T) {
	b := newBench(t)
	token := b.issuer.Token(ada)
	for range 3 {
		b.want(t, token, nil)
	}
	b.wantReads(t, 1)
}

// Ensure that a new key of the issuer is found, and that tokens with made-up keys
// can't make the handler a nuisance to the issuer.
func TestRotation(t *testing.T) {
	b := newBench(t)
	old := b.issuer.Token(ada)
	b.want(t, old, nil)
	unknown := b.issuer.SignWith(signing, "made-up", stranger(t), b.issuer.Claims(ada))
	for range 5 {
		b.want(t, unknown, auth.ErrInvalid)
	}
	b.wantReads(t, 1)

	b.issuer.Rotate()
	rotated := b.issuer.Token(ada)
	b.want(t, rotated, auth.ErrInvalid) // within the pause
	b.wantReads(t, 1)
	b.now.advance(time.Minute)
	b.want(t, rotated, nil)
	b.want(t, old, nil)
	b.wantReads(t, 2)
}

// Ensure that known keys outlive an outage, and that old ones are read again
// without anybody waiting for it.
func TestKeysOutliveAnOutage(t *testing.T) {
	b := newBench(t)
	token := b.issuer.Token(ada)
	b.want(t, token, nil)
	b.issuer.SetDown(true)
	for range 3 {
		b.now.advance(time.Hour)
		claims := b.issuer.Claims(ada)
		claims["exp"] = b.now.Now().Add(time.Hour).Unix()
		b.want(t, b.issuer.Sign(claims), nil)
	}
	// A key that nobody knows can't be judged now.
	b.now.advance(5 * time.Second)
	b.want(t, b.issuer.SignWith(signing, "made-up", stranger(t), b.issuer.Claims(ada)), auth.ErrNoKeys)
}

func TestOldKeysAreReadAgain(t *testing.T) {
	b := newBench(t)
	claims := b.issuer.Claims(ada)
	claims["exp"] = b.now.Now().Add(2 * time.Hour).Unix()
	token := b.issuer.Sign(claims)
	b.want(t, token, nil)
	b.now.advance(time.Hour)
	b.want(t, token, nil)
	deadline := time.Now().Add(20 * time.Second)
	for b.issuer.Reads() < 2 && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	b.wantReads(t, 2)
}

func TestIssuerDownAtTheStart(t *testing.T) {
	b := newBench(t)
	b.issuer.SetDown(true)
	token := b.issuer.Token(ada)
	b.want(t, token, auth.ErrNoKeys)
	b.issuer.SetDown(false)
	b.want(t, token, auth.ErrNoKeys) // too early for another try
	b.now.advance(5 * time.Second)
	b.want(t, token, nil)
}

// Ensure that Preload does not wait, and a token that comes meanwhile waits for it
// and not longer than its request lasts.
func TestPreload(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	keys := newKeys(t, server.URL)
	keys.Preload()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := keys.Key(ctx, "any"); !errors.Is(err, auth.ErrNoKeys) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if _, err := keys.Key(t.Context(), "any"); !errors.Is(err, auth.ErrNoKeys) {
		t.Errorf("got %v", err)
	}
}

// Ensure that Close ends what is being read, and that nothing is read after it.
func TestCloseEndsTheReading(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-hold:
		}
	}))
	defer server.Close()
	defer close(hold)
	keys := newKeys(t, server.URL)
	keys.Preload()
	keys.Close()
	if _, err := keys.Key(t.Context(), "any"); !errors.Is(err, auth.ErrNoKeys) {
		t.Errorf("got %v", err)
	}
}

// Ensure that many who wait share one reading.
func TestReadingIsShared(t *testing.T) {
	b := newBench(t)
	token := b.issuer.Token(ada)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { b.want(t, token, nil) })
	}
	wg.Wait()
	b.wantReads(t, 1)
}

func TestIssuersThatAreNotSafe(t *testing.T) {
	for _, issuer := range []string{"", "login.microsoftonline.com", "http://login.microsoftonline.com/t/v2.0", "http://127.0.0.1.evil.example/", "ftp://x", "://"} {
		if keys, err := auth.NewKeys(issuer, nil, nil); err == nil {
			keys.Close()
			t.Errorf("%q is taken", issuer)
		}
	}
	for _, issuer := range []string{"https://login.microsoftonline.com/t/v2.0", "http://localhost:1/", "http://[::1]:1"} {
		keys, err := auth.NewKeys(issuer, time.Now, nil)
		if err != nil {
			t.Errorf("%q: %v", issuer, err)
			continue
		}
		keys.Close()
	}
}

// Ensure that keys come from whom they should, and only good ones.
func TestDocumentsThatAreNotTaken(t *testing.T) {
	modulus := base64.RawURLEncoding.EncodeToString(new(big.Int).Lsh(big.NewInt(1), 2047).Bytes())
	weak := base64.RawURLEncoding.EncodeToString(new(big.Int).Lsh(big.NewInt(1), 1023).Bytes())
	key := func(change ...string) string {
		k := map[string]string{"kid": "k", "kty": "RSA", "use": "sig", "alg": "RS256", "n": modulus, "e": "AQAB"}
		for i := 0; i < len(change); i += 2 {
			k[change[i]] = change[i+1]
		}
		text, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return `{"keys":[` + string(text) + `]}`
	}
	for name, c := range map[string]struct {
		configuration, keys string // %s is the server
		taken               bool
	}{
		"a good one":          {keys: key(), taken: true},
		"without use and alg": {keys: key("use", "", "alg", ""), taken: true},
		"another issuer's":    {configuration: `{"issuer":"https://evil.example","jwks_uri":"%s/keys"}`, keys: key()},
		// 0.0.0.0 is answered by this machine, and is none that is trusted.
		"keys over plain HTTP":   {configuration: `{"issuer":"%s","jwks_uri":"http://0.0.0.0%port/keys"}`, keys: key()},
		"no address of keys":     {configuration: `{"issuer":"%s"}`, keys: key()},
		"no JSON":                {configuration: `<html>`, keys: key()},
		"too long":               {keys: strings.Repeat(" ", 1<<20) + key()},
		"no keys":                {keys: `{"keys":[]}`},
		"a key for encryption":   {keys: key("use", "enc")},
		"a key of another kind":  {keys: key("kty", "EC")},
		"a secret":               {keys: `{"keys":[{"kid":"k","kty":"oct","k":"c2VjcmV0"}]}`},
		"a key for RS512":        {keys: key("alg", "RS512")},
		"a key without a name":   {keys: key("kid", "")},
		"a weak key":             {keys: key("n", weak)},
		"an even exponent":       {keys: key("e", "Ag")},
		"the exponent one":       {keys: key("e", "AQ")},
		"a huge exponent":        {keys: key("e", modulus)},
		"a modulus in no base64": {keys: key("n", "*")},
	} {
		t.Run(name, func(t *testing.T) {
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := c.keys
				if r.URL.Path != "/keys" {
					if answer = c.configuration; answer == "" {
						answer = `{"issuer":"%[1]s","jwks_uri":"%[1]s/keys"}`
					}
					answer = strings.NewReplacer("%port", strings.TrimPrefix(server.URL, "http://127.0.0.1"), "%s", server.URL, "%[1]s", server.URL).Replace(answer)
				}
				fmt.Fprint(w, answer)
			}))
			defer server.Close()
			_, err := newKeys(t, server.URL).Key(t.Context(), "k")
			if taken := err == nil; taken != c.taken || !taken && !errors.Is(err, auth.ErrNoKeys) {
				t.Errorf("got %v, taken should be %v", err, c.taken)
			}
		})
	}
}

// Ensure that nobody is sent elsewhere for keys.
func TestRedirectsAreNotFollowed(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	server := httptest.NewServer(http.RedirectHandler(issuer.URL()+"/.well-known/openid-configuration", http.StatusFound))
	defer server.Close()
	if _, err := newKeys(t, server.URL).Key(t.Context(), "key-0"); !errors.Is(err, auth.ErrNoKeys) || !strings.Contains(err.Error(), "302") {
		t.Errorf("got %v", err)
	}
}

// newKeys returns keys whose time goes so fast that a failure is over when it is asked
// again.
func newKeys(t *testing.T, issuer string) *auth.Keys {
	t.Helper()
	var asked atomic.Int64
	now := func() time.Time { return time.Unix(10*asked.Add(1), 0) }
	keys, err := auth.NewKeys(issuer, now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	return keys
}
