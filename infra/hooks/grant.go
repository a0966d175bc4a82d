package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
)

// grant is one assignment of an app role.
type grant struct{ app, role, principal string }

func defineGrant(f *flag.FlagSet) func(context.Context, *hook) error {
	var g grant
	f.StringVar(&g.app, "app", "backends", "the `app` that has the role: workflow or backends")
	f.StringVar(&g.role, "role", "Scheduler", "the `role`: Client, Scheduler or Operator")
	f.StringVar(&g.principal, "principal", "", "object `id` of the user, group or identity (default: the workflow app's identity)")
	return func(ctx context.Context, h *hook) error { return h.grant(ctx, g) }
}

// grant makes an assignment, if it isn't there. Its default is no error for who
// may not look into the directory, as pipelines may not: a person has done it
// when the environment was made, or deliveries wait until somebody does.
func (h *hook) grant(ctx context.Context, want grant) error {
	i := slices.IndexFunc(registrations(), func(r registration) bool { return r.name == want.app })
	if i < 0 {
		return &usageError{fmt.Sprintf("grant: -app %q: use workflow or backends", want.app)}
	}
	if !slices.ContainsFunc(roles(), func(r appRole) bool { return r.Value == want.role }) {
		return &usageError{fmt.Sprintf("grant: -role %q: use Client, Scheduler or Operator", want.role)}
	}
	if !h.env.entra() {
		return h.say("AUTH_MODE is %s: no app roles", h.env(envAuthMode))
	}
	variable := registrations()[i].variable
	names := []string{variable}
	byDefault := want.principal == ""
	if byDefault {
		names = append(names, envWorkflowPrincipal)
	}
	values, err := h.env.need(names...)
	if err != nil {
		return err
	}
	if byDefault {
		want.principal = values[envWorkflowPrincipal]
	}
	g, err := h.graph()
	if err != nil {
		return err
	}
	made, err := g.assign(ctx, values[variable], want.role, want.principal)
	switch {
	case isStatus(err, http.StatusForbidden) && byDefault:
		return h.say("WARNING: can't see whether %s has role %s of the %s (%v). Without the role every step waits; %s",
			want.principal, want.role, want.app, err, byHand)
	case isStatus(err, http.StatusForbidden):
		return fmt.Errorf("assign %s of %s to %s: %w; %s", want.role, want.app, want.principal, err, byHand)
	case err != nil:
		return fmt.Errorf("assign %s of %s to %s: %w", want.role, want.app, want.principal, err)
	case made:
		return h.say("%s has role %s of the %s now; earlier tokens do not carry it", want.principal, want.role, want.app)
	}
	return h.say("%s has role %s of the %s", want.principal, want.role, want.app)
}
