package main

import (
	"context"
	"net/http"
	"net/url"
)

// appRole is a role that tokens can carry. Its id is only unique within its
// application, so that both applications have the same.
type appRole struct {
	ID                 string   `json:"id"`
	Value              string   `json:"value"`
	DisplayName        string   `json:"displayName"`
	Description        string   `json:"description"`
	AllowedMemberTypes []string `json:"allowedMemberTypes"`
	IsEnabled          bool     `json:"isEnabled"`
}

// roles are the app roles that the handler asks for (docs/security.md).
func roles() []appRole {
	role := func(id, value, description string) appRole {
		return appRole{id, value, value, description, []string{"Application", "User"}, true}
	}
	return []appRole{
		role("9b5dc542-1d41-4ef5-8748-820111afb84f", "Client", "Asks for transactions and follows its own"),
		role("1f2d89a8-0c90-428a-a8de-89a7d62ce6f3", "Scheduler", "Calls the backends on behalf of the workflow"),
		role("95fce8d8-c451-4b50-9c7e-2bf0bb994037", "Operator", "Looks after transactions and the quarantine, and asks the backends"),
	}
}

const (
	// accessScope is the delegated permission without which no user gets a token.
	accessScope = "7aa5e250-ec1b-46a0-bf0f-1c5656743f07"
	// commandLines is the client id that the Azure CLI and azd sign in with.
	commandLines = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"
)

type permissionScope struct {
	ID                      string `json:"id"`
	Value                   string `json:"value"`
	Type                    string `json:"type"`
	AdminConsentDisplayName string `json:"adminConsentDisplayName"`
	AdminConsentDescription string `json:"adminConsentDescription"`
	IsEnabled               bool   `json:"isEnabled"`
}

type preAuthorized struct {
	AppID                  string   `json:"appId"`
	DelegatedPermissionIDs []string `json:"delegatedPermissionIds"`
}

type apiApplication struct {
	RequestedAccessTokenVersion int               `json:"requestedAccessTokenVersion"`
	OAuth2PermissionScopes      []permissionScope `json:"oauth2PermissionScopes"`
	PreAuthorizedApplications   []preAuthorized   `json:"preAuthorizedApplications"`
}

// application is an app registration.
type application struct {
	ID             string          `json:"id,omitempty"`    // of the object
	AppID          string          `json:"appId,omitempty"` // the client id
	DisplayName    string          `json:"displayName,omitempty"`
	SignInAudience string          `json:"signInAudience,omitempty"`
	IdentifierURIs []string        `json:"identifierUris,omitempty"`
	AppRoles       []appRole       `json:"appRoles,omitempty"`
	API            *apiApplication `json:"api,omitempty"`
	SPA            *singlePage     `json:"spa,omitempty"`
}

// register makes the app registration of that unique name, or brings it up to
// date, and returns its client id. Tokens for it are of version 2, so that their
// audience is the client id.
func (g *graph) register(ctx context.Context, uniqueName string) (clientID string, err error) {
	api := apiApplication{
		RequestedAccessTokenVersion: 2,
		OAuth2PermissionScopes: []permissionScope{{
			accessScope, "user_impersonation", "Admin", "Call " + uniqueName,
			"Call the API as the signed-in user, with the roles that this user has.", true,
		}},
		PreAuthorizedApplications: []preAuthorized{},
	}
	byName := "/applications(uniqueName='" + url.PathEscape(uniqueName) + "')"
	// "Upsert application" creates it if nobody has, under a key that no other
	// application of the tenant can have.
	if err := g.do(ctx, http.MethodPatch, byName, map[string]string{"Prefer": "create-if-missing"}, application{
		DisplayName: uniqueName, SignInAudience: "AzureADMyOrg", AppRoles: roles(), API: &api,
	}, nil); err != nil {
		return "", err
	}
	var made application
	if err := g.settled(ctx, func() error {
		return g.do(ctx, http.MethodGet, byName+"?$select=id,appId", nil, nil, &made)
	}); err != nil {
		return "", err
	}
	// The rest needs the client id, and a scope that is known already: an
	// application can't be pre-authorized in the request that makes the scope.
	api.PreAuthorizedApplications = []preAuthorized{{commandLines, []string{accessScope}}}
	if err := g.settled(ctx, func() error {
		return g.do(ctx, http.MethodPatch, "/applications/"+made.ID, nil, application{
			IdentifierURIs: []string{"api://" + made.AppID}, API: &api,
		}, nil)
	}); err != nil {
		return "", err
	}
	return made.AppID, g.settled(ctx, func() error { return g.enterprise(ctx, made.AppID) })
}

// enterprise makes the application's service principal in this tenant, which
// role assignments are kept at. Only who has a role there gets a token.
func (g *graph) enterprise(ctx context.Context, clientID string) error {
	_, err := g.servicePrincipal(ctx, clientID)
	if !isStatus(err, http.StatusNotFound) {
		return err
	}
	return g.do(ctx, http.MethodPost, "/servicePrincipals", nil, map[string]any{
		"appId": clientID, "appRoleAssignmentRequired": true,
	}, nil)
}
