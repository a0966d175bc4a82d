package ops

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

func token(context.Context) (string, error) { return "t.o.k", nil }

func TestClientShowsItsToken(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization") + " " + r.Header.Get("X-Functions-Key")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	c, err := NewClient(server.URL, Secret{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Story(t.Context(), "t-1"); err != nil || got != "Bearer t.o.k " {
		t.Errorf("sent %q, %v", got, err)
	}
	c.secret.Token = func(context.Context) (string, error) { return "", errors.New("nobody is signed in") }
	got = ""
	if _, err := c.Story(t.Context(), "t-1"); err == nil || got != "" {
		t.Errorf("without a token: sent %q, %v", got, err)
	}
}

// Ensure that nobody on the way reads a secret, and no other server gets it.
func TestSecretsStayWithTheApp(t *testing.T) {
	for name, secret := range map[string]Secret{"key": {Key: "k"}, "token": {Token: token}} {
		for app, taken := range map[string]bool{
			"http://app.example": false, "https://app.example": true, "http://127.0.0.1:7071": true, "http://localhost:7071": true,
		} {
			c, err := NewClient(app, secret)
			if (err == nil) != taken {
				t.Errorf("%s to %s: %v", name, app, err)
			}
			if c != nil {
				c.Close()
			}
		}
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("sent elsewhere: %v", r.Header)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, err := NewClient(server.URL, Secret{Key: "k", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var p *problem.Problem
	if _, err := c.Story(t.Context(), "t-1"); !errors.As(err, &p) || p.Status != http.StatusTemporaryRedirect {
		t.Errorf("got %v", err)
	}
}

func TestClientTellsWhatIsMissing(t *testing.T) {
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	c, err := NewClient(server.URL, Secret{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for code, want := range map[int]string{http.StatusUnauthorized: "OPS_TOKEN", http.StatusForbidden: "the app role Operator"} {
		status = code
		if _, err := c.Story(t.Context(), "t-1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q in it", code, err, want)
		}
	}
}
