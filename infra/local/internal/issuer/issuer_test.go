package issuer_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/shared/auth"
)

// Ensure that the verifier of the app takes the issuer's tokens by its settings, and
// knows the caller; and that the identity's endpoint wants its secret.
func TestTokens(t *testing.T) {
	i, err := issuer.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	set := i.Settings()
	keys, err := auth.NewKeys(set["AUTH_ISSUER"], time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	verifier, err := auth.NewVerifier(set["AUTH_ISSUER"], []string{set["AUTH_AUDIENCE"]}, "", keys, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	token, err := i.Token("ada", auth.Client)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := verifier.Verify(t.Context(), token)
	if err != nil || caller.ID != issuer.CallerID("ada") || !caller.Has(auth.Client) || caller.Has(auth.Operator) {
		t.Errorf("%+v, %v", caller, err)
	}
	for name, c := range map[string]struct {
		secret, query string
		status        int
	}{
		"the app":        {set["IDENTITY_HEADER"], "?client_id=" + set["BACKEND_CLIENT_ID"] + "&resource=" + set["BACKEND_AUDIENCE"], http.StatusOK},
		"another":        {"?", "?client_id=" + set["BACKEND_CLIENT_ID"] + "&resource=" + set["BACKEND_AUDIENCE"], http.StatusBadRequest},
		"for another":    {set["IDENTITY_HEADER"], "?client_id=" + set["BACKEND_CLIENT_ID"] + "&resource=elsewhere", http.StatusBadRequest},
		"as another app": {set["IDENTITY_HEADER"], "?client_id=x&resource=" + set["BACKEND_AUDIENCE"], http.StatusBadRequest},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, set["IDENTITY_ENDPOINT"]+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Identity-Header", c.secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}
