package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/page"
)

func defineRedirect(*flag.FlagSet) func(context.Context, *hook) error {
	return func(ctx context.Context, h *hook) error { return h.redirect(ctx) }
}

// singlePage are the addresses that an application's pages take codes at (Microsoft
// Learn, "Graph: spaApplication resource type").
type singlePage struct {
	RedirectURIs []string `json:"redirectUris"`
}

// redirect lets the operators' page sign in: its address, which is known after
// provisioning, becomes one that the workflow's registration sends codes to. It is no
// error for who may not change the directory: everything but the page's sign-in works.
func (h *hook) redirect(ctx context.Context) error {
	if !h.env.entra() {
		return h.say("AUTH_MODE is %s: the page signs nobody in", h.env(envAuthMode))
	}
	values, err := h.env.need(envWorkflowAuthClient, envWorkflowURL)
	if err != nil {
		return err
	}
	g, err := h.graph()
	if err != nil {
		return err
	}
	address := values[envWorkflowURL] + "/api/" + page.Path
	made, err := g.redirectTo(ctx, values[envWorkflowAuthClient], address)
	switch {
	case isStatus(err, http.StatusForbidden):
		return h.say("WARNING: can't let the page sign operators in at %s (%v); %s", address, err, byHand)
	case err != nil:
		return fmt.Errorf("let the page sign operators in at %s: %w", address, err)
	case made:
		return h.say("the page signs operators in at %s now", address)
	}
	return h.say("the page signs operators in at %s", address)
}

// redirectTo adds an address to those of an application. made is false if it was there.
func (g *graph) redirectTo(ctx context.Context, clientID, address string) (made bool, err error) {
	var app application
	if err := g.do(ctx, http.MethodGet, "/applications(appId='"+url.PathEscape(clientID)+"')?$select=id,spa", nil, nil, &app); err != nil {
		return false, err
	}
	var spa singlePage
	if app.SPA != nil {
		spa = *app.SPA
	}
	if slices.Contains(spa.RedirectURIs, address) {
		return false, nil
	}
	spa.RedirectURIs = append(spa.RedirectURIs, address)
	return true, g.do(ctx, http.MethodPatch, "/applications/"+app.ID, nil, application{SPA: &spa}, nil)
}
