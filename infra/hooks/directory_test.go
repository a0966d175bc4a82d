package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// directory is a tenant behind the part of Microsoft Graph that is used here.
// It refuses what Graph refuses, and may be slow to know what it was told.
type directory struct {
	mu          sync.Mutex
	apps        map[string]*application // by unique name
	principals  map[string]*principal   // by client id
	assignments []assignment
	identities  map[string]int // times that an identity is still unknown
	lag         int            // times that each new object is still unknown
	unknown     map[string]int
	forbidden   bool
	asked       []string
	faults      []string // requests that Graph would have taken another way
}

type principal struct {
	ID       string
	Required bool
	clientID string
}

func newDirectory() *directory {
	return &directory{apps: map[string]*application{}, principals: map[string]*principal{}, identities: map[string]int{}, unknown: map[string]int{}}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
}

// late reports whether an object is not yet known.
func (d *directory) late(id string) bool {
	d.unknown[id]--
	return d.unknown[id] >= 0
}

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.Method+" "+r.URL.Path)
	if got := r.Header.Get("Authorization"); got != "Bearer https://graph.microsoft.com/.default" {
		d.faults = append(d.faults, "authorization "+got)
	}
	w.Header().Set("Content-Type", "application/json")
	if d.forbidden {
		refuse(w, http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
		return
	}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/applications(uniqueName='"):
		d.named(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "/applications(uniqueName='"), "')"))
	case strings.HasPrefix(path, "/applications(appId='") && r.Method == http.MethodGet:
		d.app(w, strings.TrimSuffix(strings.TrimPrefix(path, "/applications(appId='"), "')"))
	case strings.HasPrefix(path, "/applications/") && r.Method == http.MethodPatch:
		d.update(w, r, strings.TrimPrefix(path, "/applications/"))
	case strings.HasPrefix(path, "/servicePrincipals(appId='") && r.Method == http.MethodGet:
		d.principal(w, strings.TrimSuffix(strings.TrimPrefix(path, "/servicePrincipals(appId='"), "')"))
	case path == "/servicePrincipals" && r.Method == http.MethodPost:
		d.newPrincipal(w, r)
	case strings.HasSuffix(path, "/appRoleAssignedTo"):
		d.assigned(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "/servicePrincipals/"), "/appRoleAssignedTo"))
	default:
		refuse(w, http.StatusBadRequest, "BadRequest", "no such path")
	}
}

// named is an application under its unique name.
func (d *directory) named(w http.ResponseWriter, r *http.Request, name string) {
	app := d.apps[name]
	switch {
	case r.Method == http.MethodGet && (app == nil || d.late(app.ID)):
		refuse(w, http.StatusNotFound, "Request_ResourceNotFound", "Resource '"+name+"' does not exist")
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(app)
	case app == nil && r.Header.Get("Prefer") != "create-if-missing":
		refuse(w, http.StatusNotFound, "Request_ResourceNotFound", "Resource '"+name+"' does not exist")
	default:
		status := http.StatusNoContent
		if app == nil {
			n := len(d.apps) + 1
			app = &application{ID: fmt.Sprintf("object-%d", n), AppID: fmt.Sprintf("client-%d", n), API: &apiApplication{}}
			d.apps[name], d.unknown[app.ID] = app, d.lag
			status = http.StatusCreated
		}
		if d.change(w, r, app) {
			w.WriteHeader(status)
		}
	}
}

// app is an application under its client id.
func (d *directory) app(w http.ResponseWriter, clientID string) {
	for _, app := range d.apps {
		if app.AppID == clientID {
			_ = json.NewEncoder(w).Encode(app)
			return
		}
	}
	refuse(w, http.StatusNotFound, "Request_ResourceNotFound", "Resource '"+clientID+"' does not exist")
}

func (d *directory) update(w http.ResponseWriter, r *http.Request, id string) {
	for _, app := range d.apps {
		if app.ID == id {
			if d.change(w, r, app) {
				w.WriteHeader(http.StatusNoContent)
			}
			return
		}
	}
	refuse(w, http.StatusNotFound, "Request_ResourceNotFound", "Resource does not exist")
}

// change updates an application, if Graph would.
func (d *directory) change(w http.ResponseWriter, r *http.Request, app *application) bool {
	var next application
	if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return false
	}
	if next.API != nil {
		for _, p := range next.API.PreAuthorizedApplications {
			for _, id := range p.DelegatedPermissionIDs {
				if !slices.ContainsFunc(app.API.OAuth2PermissionScopes, func(s permissionScope) bool { return s.ID == id }) {
					refuse(w, http.StatusBadRequest, "InvalidValue", "Property PreAuthorizedApplication references permission that cannot be found.")
					return false
				}
			}
		}
		app.API = next.API
	}
	if next.SPA != nil {
		app.SPA = next.SPA
	}
	if next.AppRoles != nil {
		app.AppRoles = next.AppRoles
	}
	if next.IdentifierURIs != nil {
		app.IdentifierURIs = next.IdentifierURIs
	}
	if next.DisplayName != "" {
		app.DisplayName, app.SignInAudience = next.DisplayName, next.SignInAudience
	}
	return true
}

func (d *directory) principal(w http.ResponseWriter, clientID string) {
	p := d.principals[clientID]
	if p == nil || d.late(p.ID) {
		refuse(w, http.StatusNotFound, "Request_ResourceNotFound", "Resource does not exist")
		return
	}
	sp := servicePrincipal{ID: p.ID}
	for _, app := range d.apps {
		if app.AppID == clientID {
			sp.AppRoles = app.AppRoles
		}
	}
	_ = json.NewEncoder(w).Encode(sp)
}

func (d *directory) newPrincipal(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		AppID    string `json:"appId"`
		Required bool   `json:"appRoleAssignmentRequired"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if d.principals[asked.AppID] != nil {
		refuse(w, http.StatusConflict, "Request_MultipleObjectsWithSameKeyValue", "already in use")
		return
	}
	if key := "backing " + asked.AppID; d.lag > 0 && d.unknown[key] == 0 {
		d.unknown[key] = 1
		refuse(w, http.StatusBadRequest, "NoBackingApplicationObject", "the backing application must be in the local tenant")
		return
	}
	d.principals[asked.AppID] = &principal{ID: "principal-of-" + asked.AppID, Required: asked.Required, clientID: asked.AppID}
	w.WriteHeader(http.StatusCreated)
}

// assigned lists assignments in pages of one, and adds to them.
func (d *directory) assigned(w http.ResponseWriter, r *http.Request, id string) {
	if r.Method == http.MethodGet {
		n := len(r.URL.Query().Get("skip"))
		page := map[string]any{"value": []assignment{}}
		if n < len(d.assignments) {
			page["value"] = d.assignments[n : n+1]
			page["@odata.nextLink"] = "https://" + r.Host + r.URL.Path + "?skip=" + strings.Repeat("x", n+1)
		}
		_ = json.NewEncoder(w).Encode(page)
		return
	}
	var a assignment
	_ = json.NewDecoder(r.Body).Decode(&a)
	d.identities[a.PrincipalID]--
	if d.identities[a.PrincipalID] >= 0 {
		refuse(w, http.StatusBadRequest, "Request_BadRequest", "Not a valid reference update.")
		return
	}
	if slices.Contains(d.assignments, a) {
		refuse(w, http.StatusBadRequest, "Request_BadRequest", "Permission being assigned already exists on the object")
		return
	}
	if a.ResourceID != id {
		d.faults = append(d.faults, "assignment to "+a.ResourceID+" at "+id)
	}
	d.assignments = append(d.assignments, a)
	w.WriteHeader(http.StatusCreated)
}
