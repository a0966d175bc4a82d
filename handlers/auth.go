package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// gate decides who may call the HTTP functions, and how often.
type gate struct {
	verifier *auth.Verifier // nil unless callers have tokens
	keys     *auth.Keys
	limiter  *auth.Limiter // nil without a limit
	logger   *slog.Logger
}

// newGate returns the gate that the settings ask for. It must be closed.
func newGate(s settings.Settings, logger *slog.Logger, now func() time.Time) (*gate, error) {
	g := &gate{logger: logger}
	if s.RateLimit.PerSecond > 0 {
		g.limiter = auth.NewLimiter(s.RateLimit.PerSecond, s.RateLimit.Burst, now)
	}
	if s.Auth.Mode != settings.AuthEntra {
		return g, nil
	}
	var err error
	if g.keys, err = auth.NewKeys(auth.KeysConfig{Issuer: s.Auth.Issuer, Now: now, Logger: logger}); err != nil {
		return nil, err
	}
	if g.verifier, err = auth.NewVerifier(s.Auth.Issuer, s.Auth.Audiences, s.Auth.AccountClaim, g.keys, now); err != nil {
		return nil, err
	}
	g.keys.Preload()
	return g, nil
}

func (g *gate) close(context.Context) error {
	if g.keys != nil {
		g.keys.Close()
	}
	return nil
}

// callerKey is the context's key of the caller, an auth.Caller.
type callerKey struct{}

// callerOf returns the opaque id of who calls, "" when callers have no tokens.
// It is never what a client says of itself: without tokens, a header such as
// X-MS-CLIENT-PRINCIPAL-ID could come from anyone.
func callerOf(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(auth.Caller)
	return caller.ID
}

// mayOrder refuses a request on an account that isn't the caller's. Without tokens
// nobody knows whose it is.
func (a *App) mayOrder(ctx context.Context, r business.Request) error {
	caller, known := ctx.Value(callerKey{}).(auth.Caller)
	claim := a.settings.Auth.AccountClaim
	if !known || claim == "" || r.AccountField == "" || slices.Contains(caller.Accounts, r.Account) {
		return nil
	}
	return problem.New(problem.Forbidden, "%s is no account of this caller's: the claim %s of its token doesn't name it", r.AccountField, claim)
}

// guard returns an endpoint of f behind the gate.
func (a *App) guard(f function, endpoint http.Handler) http.Handler {
	if f.anonymous {
		return endpoint
	}
	return a.answering(func(w http.ResponseWriter, r *http.Request) error {
		ctx, err := a.gate.admit(w, r, f)
		if err != nil {
			return err
		}
		endpoint.ServeHTTP(w, r.WithContext(ctx))
		return nil
	})
}

// admit returns the context of a request that may go on. The challenge that goes
// with a refusal is that of RFC 6750, section 3; the reason is for the log alone.
func (g *gate) admit(w http.ResponseWriter, r *http.Request, f function) (context.Context, error) {
	ctx, id := r.Context(), ""
	refuse := func(t problem.Type, challenge, reason string) *problem.Problem {
		g.logger.InfoContext(ctx, "caller refused", telemetry.KeyStatus, t.Status, "reason", reason)
		if challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		return problem.New(t, "")
	}
	if g.verifier != nil {
		token, given := bearer(r)
		if !given {
			return nil, refuse(problem.Unauthorized, `Bearer`, "no bearer token")
		}
		caller, err := g.verifier.Verify(ctx, token)
		switch {
		case errors.Is(err, auth.ErrInvalid):
			return nil, refuse(problem.Unauthorized, `Bearer error="invalid_token"`, err.Error())
		case err != nil:
			return nil, &failure.Error{Op: "check token", RetryAfter: keysRetry, Err: err}
		case !caller.Has(f.roles...):
			return nil, refuse(problem.Forbidden, `Bearer error="insufficient_scope"`, fmt.Sprintf("roles %q, wanted one of %q", caller.Roles, f.roles))
		}
		id = caller.ID
		ctx = context.WithValue(ctx, callerKey{}, caller)
	}
	if g.limiter != nil && f.limited {
		if wait, ok := g.limiter.Admit(id); !ok {
			p := refuse(problem.TooManyRequests, "", "rate limit")
			p.RetryAfter = wait
			return nil, p
		}
	}
	return ctx, nil
}

// keysRetry is when to come again while the issuer's keys can't be had.
const keysRetry = 5 * time.Second

// bearer returns the token of a request, if there is one (RFC 6750, section 2.1).
// A token in the query or in the body is none: it would end in logs.
func bearer(r *http.Request) (token string, given bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}
