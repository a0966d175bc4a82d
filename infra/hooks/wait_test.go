package main

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// deployed is azd's environment after provisioning.
func deployed() map[string]string {
	return map[string]string{
		envName: "dev", envTenant: "11111111-2222-3333-4444-555555555555",
		envEventHubs: "ns-hubs.servicebus.windows.net", envServiceBus: "ns-queues.servicebus.windows.net",
		envCosmosDB: "https://account.documents.azure.com:443/", envStorageAccount: "storage",
		envBlobs: "https://storage.blob.core.windows.net/", envWorkflowContainer: "workflow", envBackendsContainer: "backends",
		envWorkflowPrincipal: "identity-1", envBackendsPrincipal: "identity-2",
		envSubscription: "sub", envResourceGroup: "rg-dev", envBackendsApp: "func-backends", envWorkflowAuthClient: "client-w", envBackendsAuthClient: "client-b",
	}
}

const (
	putWorkflow = "PUT /workflow/" + probeName
	delWorkflow = "DELETE /workflow/" + probeName
	putBackends = "PUT /backends/" + probeName
	delBackends = "DELETE /backends/" + probeName
	getRoles    = "GET /subscriptions/sub/resourceGroups/rg-dev/providers/Microsoft.Storage/storageAccounts/storage/providers/Microsoft.Authorization/roleAssignments"
	getDocument = "GET /dbs/fabrikam/colls/transactions/docs/" + probeName
)

// assigned is Resource Manager's list of role assignments.
func assigned(role string, principals ...string) string {
	var list []string
	for _, p := range principals {
		list = append(list, `{"properties":{"roleDefinitionId":"/subscriptions/sub/providers/Microsoft.Authorization/roleDefinitions/`+role+`","principalId":"`+p+`"}}`)
	}
	return `{"value":[` + strings.Join(list, ",") + `]}`
}

// working answers as services do once the roles work.
func working() *script {
	return &script{answers: map[string][]answer{
		getRoles:    {{status: 200, body: assigned(blobDataOwner, "identity-1", "identity-2")}},
		putWorkflow: {{status: 201}}, delWorkflow: {{status: 202}},
		putBackends: {{status: 201}}, delBackends: {{status: 202}},
		getDocument: {{status: 404, body: `{"code":"NotFound","message":"Entity with the specified id does not exist"}`}},
	}}
}

func TestWaitUntilRolesWork(t *testing.T) {
	s := working()
	s.answers[putWorkflow] = []answer{
		{status: 404, header: "ContainerNotFound"}, {status: 403, header: "AuthorizationPermissionMismatch"}, {status: 503}, {status: 201},
	}
	s.answers[delWorkflow] = []answer{{status: 403}, {status: 202}}
	s.answers[getDocument] = append([]answer{{status: 403, body: `{"code":"Forbidden","message":"Request blocked by Auth"}`}, {status: 401}}, s.answers[getDocument]...)
	w := newWorld(t, deployed(), s)
	w.mustSay(t, exitOK, []string{"wait"}, "blobs of workflow: works", "blobs of backends: works", "documents of fabrikam: works")
	if w.slept != 4*waitPause { // three refusals to write, one to delete
		t.Errorf("waited %v", w.slept)
	}
	// What works is not asked again.
	if s.count(putBackends) != 1 || s.count(getDocument) != 3 || s.count(putWorkflow) != 5 || s.count(delWorkflow) != 2 {
		t.Errorf("asked %q", s.asked)
	}
}

func TestWaitAuthorizesRequests(t *testing.T) {
	s := working()
	w := newWorld(t, deployed(), s)
	probes, err := w.probes()
	if err != nil {
		t.Fatal(err)
	}
	if err := probes[2].try(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.header.Get("Authorization"); got != "Bearer https://storage.azure.com/.default" {
		t.Errorf("blobs: %q", got)
	}
	if err := probes[4].try(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := url.QueryUnescape(s.header.Get("Authorization"))
	if err != nil || got != "type=aad&ver=1.0&sig=https://127.0.0.1/.default" {
		t.Errorf("documents: %q, %v", got, err)
	}
	if key, date := s.header.Get("x-ms-documentdb-partitionkey"), s.header.Get("x-ms-date"); key != `["`+probeName+`"]` || date != "Sat, 21 Nov 2026 12:00:00 GMT" {
		t.Errorf("partition key %s, date %s", key, date)
	}
}

func TestWaitGivesUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*script)
		texts  []string
		slept  time.Duration
	}{
		{"no role", func(s *script) {
			s.answers[putBackends] = []answer{{status: 403, header: "AuthorizationPermissionMismatch"}}
		},
			[]string{"not ready after 2m", "blobs of backends", "403 AuthorizationPermissionMismatch", "still waiting for blobs of backends", "run azd provision again"}, 2*time.Minute - waitPause},
		{"an identity without its role", func(s *script) {
			s.answers[getRoles] = []answer{{status: 200, body: assigned(blobDataOwner, "identity-1")}}
		},
			[]string{"storage role of the backends' identity: identity-2 lacks the role Storage Blob Data Owner"}, 2*time.Minute - waitPause},
		{"an identity with another role", func(s *script) {
			s.answers[getRoles] = []answer{{status: 200, body: assigned("ba92f5b4-2d11-453d-a403-e96b0029c9fe", "identity-1", "identity-2")}}
		},
			[]string{"identity-1 lacks the role", "identity-2 lacks the role"}, 2*time.Minute - waitPause},
		{"a wrong request", func(s *script) { s.answers[putWorkflow] = []answer{{status: 400, header: "InvalidHeaderValue"}} },
			[]string{"blobs of workflow", "400 InvalidHeaderValue"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := working()
			c.change(s)
			w := newWorld(t, deployed(), s)
			w.mustSay(t, exitError, []string{"wait", "-timeout", "2m"}, c.texts...)
			if w.slept != c.slept {
				t.Errorf("waited %v, want %v", w.slept, c.slept)
			}
		})
	}
}

// Ensure that services in a closed network hold nothing up, and that it is said.
func TestWaitGoesOnWhereTheNetworkIsClosed(t *testing.T) {
	s := working()
	s.answers[putWorkflow] = []answer{{status: 403, header: "AuthorizationFailure"}}
	s.answers[putBackends] = s.answers[putWorkflow]
	s.answers[getDocument] = []answer{{status: 403, body: `{"code":"Forbidden","message":"Request originated from IP 192.0.2.1 through public internet. This is blocked by your Cosmos DB account firewall settings."}`}}
	w := newWorld(t, deployed(), s)
	w.mustSay(t, exitOK, []string{"wait"}, "storage role of the workflow's identity: works", "storage role of the backends' identity: works",
		"blobs of workflow: closed to this machine's network", "403 AuthorizationFailure", "documents of fabrikam: closed to this machine's network", "skipped")
	if w.slept != 0 {
		t.Errorf("waited %v", w.slept)
	}
	// A missing role is none of that.
	if err := (&statusError{status: 403, code: "Forbidden", message: "Request blocked by Auth account : Request is blocked because principal [x] does not have required RBAC permissions"}); byNetwork(err) {
		t.Errorf("%v is taken for the network", err)
	}
}

func TestWaitNeedsASignIn(t *testing.T) {
	s := working()
	w := newWorld(t, deployed(), s)
	w.credential = func(string) (azcore.TokenCredential, error) { return signedOut{errors.New("run azd auth login")}, nil }
	w.mustSay(t, exitError, []string{"wait"}, "run azd auth login")
	if w.slept != 0 || len(s.asked) != 0 {
		t.Errorf("waited %v, asked %q", w.slept, s.asked)
	}
}

// broken is a network that fails a few times.
type broken struct {
	http.RoundTripper
	left int
}

func (b *broken) Do(r *http.Request) (*http.Response, error) {
	if b.left--; b.left >= 0 {
		return nil, errors.New("no such host")
	}
	return b.RoundTrip(r)
}

func TestWaitOutlastsTheNetwork(t *testing.T) {
	w := newWorld(t, deployed(), working())
	w.transport = &broken{w.transport.(*http.Client).Transport, 4}
	w.mustSay(t, exitOK, []string{"wait"}, "documents of fabrikam: works")
	if w.slept == 0 {
		t.Error("did not wait")
	}
}

func TestWaitNeedsOutputs(t *testing.T) {
	vars := deployed()
	delete(vars, envBlobs)
	delete(vars, envCosmosDB)
	w := newWorld(t, vars, working())
	w.mustSay(t, exitError, []string{"wait"}, "not set: "+envBlobs+", "+envCosmosDB, "azd provision")
	vars = deployed()
	w = newWorld(t, vars, nil)
	vars[envCosmosDB] = "://"
	w.mustSay(t, exitError, []string{"wait"}, "is not a URL")
	if strings.Contains(w.errors.String(), "not set") {
		t.Error(w.errors.String())
	}
}
