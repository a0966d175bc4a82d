package backendclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestCallsCarryTheToken(t *testing.T) {
	var got atomic.Value
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNoContent)
	})
	c := client(t, server.URL, Config{Token: func(context.Context) (string, error) { return "t.o.k", nil }})
	if o := c.Do(t.Context(), put(`{}`)); o.Retry != workflow.RetryNone || got.Load() != "Bearer t.o.k" {
		t.Errorf("got %+v, Authorization %q", o, got.Load())
	}
}

// Ensure that a call without its token is not made: nothing has happened then, and
// a later one may go through.
func TestNoTokenNoCall(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a call was made") })
	c := client(t, server.URL, Config{Token: func(context.Context) (string, error) { return "", errors.New("the endpoint is down") }})
	wantOutcome(t, c.Do(t.Context(), put(`{}`)), workflow.RetryLater, workflow.EffectNo, "no-token")
}

func TestTokensAreNotSentInTheClear(t *testing.T) {
	token := func(context.Context) (string, error) { return "t.o.k", nil }
	for address, taken := range map[string]bool{
		"https://backends.example/api": true, "http://127.0.0.1:1/api": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://backends.example/api": false, "http://127.0.0.1.example": false,
	} {
		c, err := New(Config{Backends: map[string]string{"b": address}, Token: token}, time.Now)
		if (err == nil) != taken {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "t.o.k") {
			t.Error("the error shows the token")
		}
		if c != nil {
			c.Close()
		}
	}
	if _, err := New(Config{Backends: map[string]string{"b": "http://backends.example"}}, time.Now); err != nil {
		t.Errorf("without a token: %v", err)
	}
}
