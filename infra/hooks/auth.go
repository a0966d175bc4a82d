package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// byHand tells what to do without the right to change the directory.
const byHand = "your account lacks the right in the directory; docs/operations.md, \"Entra ID\", tells what an account with the right can do (or use keys: azd env set AUTH_MODE keys)"

func defineAuth(*flag.FlagSet) func(context.Context, *hook) error {
	return func(ctx context.Context, h *hook) error { return h.auth(ctx) }
}

// auth makes the app registrations that azd's environment doesn't name yet, and
// names them there.
//
// The beginning of their names is kept in the environment before the first is
// made: a call that was interrupted goes on with the same ones, and environments
// of the same name that two people have share nothing.
func (h *hook) auth(ctx context.Context) error {
	if h.env.stamp() {
		return nil // it has those of its front
	}
	if !h.env.entra() {
		return h.say("AUTH_MODE is %s: no app registrations", h.env(envAuthMode))
	}
	missing := false
	for _, app := range registrations() {
		missing = missing || h.env(app.variable) == ""
	}
	if !missing {
		return h.say("the app registrations are set: nothing to do")
	}
	name := h.env(envAuthAppName)
	if name == "" {
		environment, err := h.env.name()
		if err != nil {
			return err
		}
		name = chosen.Business().Name + "-" + environment + "-" + h.suffix()
		if err := h.setEnv(ctx, envAuthAppName, name); err != nil {
			return err
		}
	}
	g, err := h.graph()
	if err != nil {
		return err
	}
	for _, app := range registrations() {
		if h.env(app.variable) != "" {
			continue
		}
		unique := name + "-" + app.name
		clientID, err := g.register(ctx, unique)
		switch {
		case isStatus(err, http.StatusForbidden):
			return fmt.Errorf("register %s: %w; %s", unique, err, byHand)
		case err != nil:
			return fmt.Errorf("register %s: %w", unique, err)
		}
		if err := h.setEnv(ctx, app.variable, clientID); err != nil {
			return err
		}
		if err := h.say("app registration %s has client id %s", unique, clientID); err != nil {
			return err
		}
	}
	return nil
}

// registration is one of the two function apps, as a token's audience.
type registration struct{ name, variable string }

func registrations() []registration {
	return []registration{{"workflow", envWorkflowAuthClient}, {"backends", envBackendsAuthClient}}
}

// say tells how far it is.
func (h *hook) say(format string, args ...any) error {
	_, err := fmt.Fprintf(h.out, format+"\n", args...)
	return err
}
