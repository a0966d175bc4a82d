package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// GateConfig is who may pass a gate.
type GateConfig struct {
	// Tokens is whether callers need one, which NewVerifier tells more of.
	Tokens        bool
	Issuer        string
	Audiences     []string
	AccountsClaim string
	// PerSecond and Burst are the limit of a caller; 0 a second is none.
	PerSecond float64
	Burst     int
	Now       func() time.Time
	Logger    *slog.Logger
}

// Gate decides who may call the HTTP functions, and how often. It is safe for
// concurrent use.
type Gate struct {
	verifier *Verifier // nil unless callers have tokens
	keys     *Keys
	limiter  *Limiter // nil without a limit
	logger   *slog.Logger
}

// OpenGate returns a gate, which must be closed. The issuer is asked later; the
// error is about the configuration.
func OpenGate(c GateConfig) (*Gate, error) {
	g := &Gate{logger: c.Logger}
	if c.PerSecond > 0 {
		g.limiter = NewLimiter(c.PerSecond, c.Burst, c.Now)
	}
	if !c.Tokens {
		return g, nil
	}
	var err error
	if g.keys, err = NewKeys(c.Issuer, c.Now, c.Logger); err != nil {
		return nil, err
	}
	if g.verifier, err = NewVerifier(c.Issuer, c.Audiences, c.AccountsClaim, g.keys, c.Now); err != nil {
		return nil, err
	}
	g.keys.Preload()
	return g, nil
}

// Close ends what runs in the background.
func (g *Gate) Close() {
	if g.keys != nil {
		g.keys.Close()
	}
}

// callerKey is the context's key of a Caller.
type callerKey struct{}

// CallerIn returns who makes a request that was admitted; false when callers have
// no tokens. It is never what a client says of itself: without tokens, a header
// such as X-MS-CLIENT-PRINCIPAL-ID could come from anyone.
func CallerIn(ctx context.Context) (Caller, bool) {
	caller, known := ctx.Value(callerKey{}).(Caller)
	return caller, known
}

// Admit returns the context of a request that may go on: its caller has one of the
// roles and, if it is limited, has not called too often. The challenge that goes
// with a refusal is that of RFC 6750, section 3; the reason is for the log alone.
func (g *Gate) Admit(w http.ResponseWriter, r *http.Request, roles []Role, limited bool) (context.Context, error) {
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
		case errors.Is(err, ErrInvalid):
			return nil, refuse(problem.Unauthorized, `Bearer error="invalid_token"`, err.Error())
		case err != nil:
			return nil, &failure.Error{Op: "check token", RetryAfter: keysRetry, Err: err}
		case !caller.Has(roles...):
			return nil, refuse(problem.Forbidden, `Bearer error="insufficient_scope"`, fmt.Sprintf("roles %q, wanted one of %q", caller.Roles, roles))
		}
		id = caller.ID
		ctx = context.WithValue(ctx, callerKey{}, caller)
	}
	if g.limiter != nil && limited {
		if wait, ok := g.limiter.Admit(id); !ok {
			p := refuse(problem.TooManyRequests, "", "rate limit")
			p.RetryAfter = wait
			return nil, p
		}
	}
	return ctx, nil
}

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
