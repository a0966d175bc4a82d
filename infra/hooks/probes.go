package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	// probeName is of the blob and of the document that are asked for.
	probeName = "hooks-role-probe"
	// blobVersion, cosmosVersion and rolesVersion are versions of the REST APIs.
	blobVersion   = "2024-08-04"
	cosmosVersion = "2020-11-05"
	rolesVersion  = "2022-04-01"
	// blobDataOwner is the role by which an app uploads its package, as in
	// infra/modules/roles.bicep.
	blobDataOwner = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"
)

// probe is one thing that works only with its role.
type probe struct {
	name string
	try  func(context.Context) error
}

// probes are what the deployment that follows needs: the containers that the
// apps' packages are uploaded to, and the database, whose roles are assigned by
// Cosmos DB itself and not by Azure Resource Manager. They are tried as who
// deploys; what uploads is the apps' identities, whose assignments are looked up.
func (h *hook) probes() ([]probe, error) {
	apps := []probed{{"workflow's", envWorkflowPrincipal, envWorkflowContainer}}
	if !h.env.stamp() {
		apps = append(apps, probed{"backends'", envBackendsPrincipal, envBackendsContainer})
	}
	needed := []string{envTenant, envBlobs, envCosmosDB, envSubscription, envResourceGroup, envStorageAccount}
	for _, app := range apps {
		needed = append(needed, app.principal, app.container)
	}
	values, err := h.env.need(needed...)
	if err != nil {
		return nil, err
	}
	file, err := h.projectSettings("COSMOSDB_DATABASE")
	if err != nil {
		return nil, err
	}
	database := file["COSMOSDB_DATABASE"]
	cred, err := h.credential(values[envTenant])
	if err != nil {
		return nil, err
	}
	blobs := newREST(values[envBlobs],
		runtime.NewBearerTokenPolicy(cred, []string{"https://storage.azure.com/.default"}, nil), h.transport, -1)
	account, err := url.Parse(values[envCosmosDB])
	if err != nil || account.Hostname() == "" {
		return nil, fmt.Errorf("%s: %q is not a URL", envCosmosDB, values[envCosmosDB])
	}
	documents := newREST(values[envCosmosDB], &cosmosToken{cred, "https://" + account.Hostname() + "/.default", h.clock.now}, h.transport, -1)
	manager, err := h.manager(values[envTenant])
	if err != nil {
		return nil, err
	}
	storage := groupPath(values) + "/providers/Microsoft.Storage/storageAccounts/" + url.PathEscape(values[envStorageAccount])
	var assignments, uploads []probe
	for _, app := range apps {
		assignments = append(assignments, probe{"storage role of the " + app.whose + " identity", assignmentProbe(manager, storage, values[app.principal])})
		uploads = append(uploads, probe{"blobs of " + values[app.container], blobProbe(blobs, values[app.container])})
	}
	return slices.Concat(assignments, uploads, []probe{{"documents of " + database, documentProbe(documents, database)}}), nil
}

// probed is an app that is to be deployed, with the variables that name its identity
// and the container of its package.
type probed struct{ whose, principal, container string }

// assignmentProbe looks for the assignment of blobDataOwner to an identity (REST
// operation Role Assignments - List For Scope).
func assignmentProbe(c *rest, scope, principal string) func(context.Context) error {
	path := scope + "/providers/Microsoft.Authorization/roleAssignments?api-version=" + rolesVersion +
		"&$filter=" + url.QueryEscape("principalId eq '"+principal+"'")
	return func(ctx context.Context) error {
		var list struct {
			Value []struct {
				Properties struct{ RoleDefinitionID, PrincipalID string }
			}
		}
		if err := c.do(ctx, http.MethodGet, path, nil, nil, &list); err != nil {
			return err
		}
		for _, a := range list.Value {
			if strings.HasSuffix(a.Properties.RoleDefinitionID, "/"+blobDataOwner) && a.Properties.PrincipalID == principal {
				return nil
			}
		}
		return fmt.Errorf("%s lacks the role Storage Blob Data Owner on %s", principal, scope)
	}
}

// blobProbe writes a blob and deletes it (REST operations Put Blob, Delete
// Blob).
func blobProbe(c *rest, container string) func(context.Context) error {
	path := "/" + url.PathEscape(container) + "/" + probeName
	return func(ctx context.Context) error {
		if err := c.do(ctx, http.MethodPut, path, map[string]string{
			"x-ms-version": blobVersion, "x-ms-blob-type": "BlockBlob",
		}, []byte("written to see whether it can be"), nil); err != nil {
			return err
		}
		return c.do(ctx, http.MethodDelete, path, map[string]string{"x-ms-version": blobVersion}, nil, nil)
	}
}

// documentProbe reads a document that isn't there (REST operation Get
// Document): who may read is told so, who may not is refused.
func documentProbe(c *rest, database string) func(context.Context) error {
	path := "/dbs/" + url.PathEscape(database) + "/colls/" + defaultCosmosContainer + "/docs/" + probeName
	return func(ctx context.Context) error {
		err := c.do(ctx, http.MethodGet, path, map[string]string{
			"x-ms-version": cosmosVersion, "x-ms-documentdb-partitionkey": `["` + probeName + `"]`,
		}, nil, nil)
		if isStatus(err, http.StatusNotFound) {
			return nil
		}
		return err
	}
}

// cosmosToken authorizes requests to Cosmos DB, which wants the token in a form
// of its own (Microsoft Learn, "Access control on Azure Cosmos DB resources").
type cosmosToken struct {
	cred  azcore.TokenCredential
	scope string
	now   func() time.Time
}

// Do implements policy.Policy.
func (p *cosmosToken) Do(req *policy.Request) (*http.Response, error) {
	token, err := p.cred.GetToken(req.Raw().Context(), policy.TokenRequestOptions{Scopes: []string{p.scope}})
	if err != nil {
		return nil, err
	}
	req.Raw().Header.Set("Authorization", url.QueryEscape("type=aad&ver=1.0&sig="+token.Token))
	req.Raw().Header.Set("x-ms-date", p.now().UTC().Format(http.TimeFormat))
	return req.Next()
}
