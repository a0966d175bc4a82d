package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	// directoryLag is how long the directory may take to know what it has just
	// been told (Microsoft Learn, "Graph: eventual consistency").
	directoryLag = 2 * time.Minute
	// directoryPause is the time between two tries.
	directoryPause = 3 * time.Second
)

// graph is Microsoft Graph.
type graph struct {
	*rest
	clock clock
}

func (h *hook) graph() (*graph, error) {
	cred, err := h.credential(h.env(envTenant))
	if err != nil {
		return nil, err
	}
	bearer := runtime.NewBearerTokenPolicy(cred, []string{"https://graph.microsoft.com/.default"}, nil)
	return &graph{newREST(h.graphURL, bearer, h.transport, 3), h.clock}, nil
}

// servicePrincipal is an application in this tenant.
type servicePrincipal struct {
	ID       string    `json:"id"`
	AppRoles []appRole `json:"appRoles"`
}

func (g *graph) servicePrincipal(ctx context.Context, clientID string) (servicePrincipal, error) {
	var sp servicePrincipal
	err := g.do(ctx, http.MethodGet, "/servicePrincipals(appId='"+url.PathEscape(clientID)+"')?$select=id,appRoles", nil, nil, &sp)
	return sp, err
}

// assignment is who has which role at an application.
type assignment struct {
	PrincipalID string `json:"principalId"` // a user, a group, or a service principal
	ResourceID  string `json:"resourceId"`
	AppRoleID   string `json:"appRoleId"`
}

// assign gives a principal a role of an application. made is false if it had
// the role already.
func (g *graph) assign(ctx context.Context, clientID, role, principal string) (made bool, err error) {
	sp, err := g.servicePrincipal(ctx, clientID)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(sp.AppRoles, func(r appRole) bool { return r.Value == role })
	if i < 0 {
		return false, fmt.Errorf("application %s has no role %s", clientID, role)
	}
	want := assignment{principal, sp.ID, sp.AppRoles[i].ID}
	path := "/servicePrincipals/" + sp.ID + "/appRoleAssignedTo"
	if has, err := g.assigned(ctx, path, want); err != nil || has {
		return false, err
	}
	// An identity that was made a moment ago may not be known yet.
	return true, g.settled(ctx, func() error { return g.do(ctx, http.MethodPost, path, nil, want, nil) })
}

// assigned looks through all pages of an application's assignments.
func (g *graph) assigned(ctx context.Context, path string, want assignment) (bool, error) {
	for path != "" {
		var page struct {
			Value    []assignment `json:"value"`
			NextLink string       `json:"@odata.nextLink"`
		}
		if err := g.do(ctx, http.MethodGet, path, nil, nil, &page); err != nil {
			return false, err
		}
		if slices.ContainsFunc(page.Value, func(a assignment) bool {
			return strings.EqualFold(a.PrincipalID, want.PrincipalID) && strings.EqualFold(a.AppRoleID, want.AppRoleID)
		}) {
			return true, nil
		}
		path = page.NextLink
	}
	return false, nil
}

// settled repeats a call while it fails only because the directory doesn't know
// everywhere what was made before it.
func (g *graph) settled(ctx context.Context, call func() error) error {
	deadline := g.clock.now().Add(directoryLag)
	for {
		err := call()
		if err == nil || !unsettled(err) || !g.clock.now().Before(deadline) {
			return err
		}
		if err := g.clock.sleep(ctx, directoryPause); err != nil {
			return err
		}
	}
}

// unsettled reports whether an error says that something doesn't exist, in the
// words that Graph has for it.
func unsettled(err error) bool {
	var e *statusError
	if !errors.As(err, &e) {
		return false
	}
	if e.status == http.StatusBadRequest {
		for _, words := range []string{"NoBackingApplicationObject", "does not exist", "cannot be found", "Not a valid reference update"} {
			if strings.Contains(e.code+" "+e.message, words) {
				return true
			}
		}
	}
	return e.status == http.StatusNotFound
}

func isStatus(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}
