package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/auth/authtest"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// entraWorld is a world whose callers have tokens, and whose own calls to the
// backends carry one.
type entraWorld struct {
	*world
	issuer   *authtest.Issuer
	identity *authtest.Identity
}

func newEntraWorld(t *testing.T, changes ...string) *entraWorld {
	t.Helper()
	e := &entraWorld{issuer: authtest.NewIssuer(t)}
	e.identity = authtest.NewIdentity(t, e.issuer, "the-workflow", "Scheduler")
	for name, value := range e.identity.Environment() {
		t.Setenv(name, value)
	}
	e.world = newWorld(t, append([]string{
		"AUTH_MODE", "entra", "AUTH_ISSUER", e.issuer.URL(), "AUTH_AUDIENCE", "00000000-0000-0000-0000-0000000000cc," + authtest.Audience,
		"BACKEND_AUDIENCE", authtest.Audience, "BACKEND_CLIENT_ID", e.identity.ClientID, "AUTH_ACCOUNT_CLAIM", "none",
	}, changes...)...)
	return e
}

// as makes the calls that follow those of a caller with roles.
func (e *entraWorld) as(oid string, roles ...string) {
	e.t.Helper()
	e.token = e.issuer.Token(oid, roles...)
}

// refused checks that a call is answered with that status and a problem document.
func (e *entraWorld) refused(status int, method, path, body string, headers ...string) (http.Header, problem.Problem) {
	e.t.Helper()
	resp, data := e.call(method, path, body, headers...)
	if resp.StatusCode != status || resp.Header.Get("Content-Type") != problem.ContentType {
		e.t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, data, status)
	}
	var p problem.Problem
	decode(e.t, data, &p)
	return resp.Header, p
}

var variables = regexp.MustCompile(`\{[^}]+\}`)

// Ensure that no endpoint answers anyone but those with its role, whatever comes
// into the table.
func TestEveryEndpointWantsItsRole(t *testing.T) {
	e := newEntraWorld(t)
	var all []string
	for _, f := range e.app.functions {
		for _, role := range f.roles {
			all = append(all, string(role))
		}
	}
	for _, f := range e.app.functions {
		if f.trigger == httpTrigger && f.anonymous != (len(f.roles) == 0) {
			t.Errorf("%s: anyone may call: %v, roles %q", f.name, f.anonymous, f.roles)
		}
		for _, endpoint := range f.endpoints {
			path := routePrefix + "/" + variables.ReplaceAllString(endpoint.path, "x-1")
			e.token = ""
			if f.anonymous {
				if resp, data := e.call(endpoint.method, path, ""); resp.StatusCode != http.StatusOK {
					t.Errorf("%s %s: %d %s", endpoint.method, path, resp.StatusCode, data)
				}
				continue
			}
			header, _ := e.refused(http.StatusUnauthorized, endpoint.method, path, "")
			if challenge := header.Get("WWW-Authenticate"); challenge != "Bearer" {
				t.Errorf("%s %s: the challenge is %q", endpoint.method, path, challenge)
			}
			e.as("ada", slices.DeleteFunc(slices.Clone(all), func(r string) bool { return slices.Contains(f.roles, auth.Role(r)) })...)
			header, _ = e.refused(http.StatusForbidden, endpoint.method, path, "")
			if challenge := header.Get("WWW-Authenticate"); challenge != `Bearer error="insufficient_scope"` {
				t.Errorf("%s %s: the challenge is %q", endpoint.method, path, challenge)
			}
			for _, role := range f.roles {
				e.as("ada", string(role))
				if resp, data := e.call(endpoint.method, path, ""); resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
					t.Errorf("%s %s as %s: %d %s", endpoint.method, path, role, resp.StatusCode, data)
				}
			}
		}
	}
}

// Ensure that a token is looked for where it belongs, that a bad one is refused
// with its challenge, and that why is in the log and nowhere else.
func TestTokensAtTheGate(t *testing.T) {
	e := newEntraWorld(t)
	good := e.issuer.Token("ada", "Client")
	claims := e.issuer.Claims("ada", "Client")
	claims["exp"] = time.Now().Add(-time.Hour).Unix()
	expired := e.issuer.Sign(claims)
	const none, bad = `Bearer`, `Bearer error="invalid_token"`
	for name, c := range map[string]struct{ value, challenge, reason string }{
		"another scheme": {"Basic " + good, none, "no bearer token"},
		"no scheme":      {good, none, "no bearer token"},
		"no token":       {"Bearer", bad, "malformed"},
		"an empty one":   {"Bearer  ", bad, "malformed"},
		"rubbish":        {"Bearer x.y.z", bad, "malformed"},
		"expired":        {"Bearer " + expired, bad, "expired"},
	} {
		header, p := e.refused(http.StatusUnauthorized, http.MethodGet, "/api/deliveryrequests/x", "", "Authorization", c.value)
		if header.Get("WWW-Authenticate") != c.challenge || p.Detail != "" {
			t.Errorf("%s: %q, %+v", name, header.Get("WWW-Authenticate"), p)
		}
		if !strings.Contains(e.log.String(), c.reason) {
			t.Errorf("%s: %q is not in the log:\n%s", name, c.reason, e.log)
		}
	}
	e.refused(http.StatusUnauthorized, http.MethodGet, "/api/deliveryrequests/x?access_token="+good, "")
	two := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/deliveryrequests/x", nil)
	two.Header["Authorization"] = []string{"Bearer " + good, "Bearer " + expired}
	answer := httptest.NewRecorder()
	if e.app.ServeHTTP(answer, two); answer.Code != http.StatusUnauthorized {
		t.Errorf("two tokens: %d", answer.Code)
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		e.refused(http.StatusNotFound, http.MethodGet, "/api/deliveryrequests/x", "", "Authorization", scheme+good)
	}
	if log := e.log.String(); strings.Contains(log, good) || strings.Contains(log, expired) || strings.Contains(log, authtest.Tenant) {
		t.Errorf("the log has a token or a caller in it:\n%s", log)
	}
}

// Ensure that a delivery of a client completes while the backends want another
// role, with one token for all calls, and that its client is in the document and
// nowhere else.
func TestDeliveryWithTokens(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	id := e.post(deliveryBody).TransactionID
	view := e.transaction(id)
	if view.State != workflow.Completed || view.Steps[4].Attempts != 1 {
		t.Errorf("got %+v", view)
	}
	if n := e.identity.Asked(); n != 1 {
		t.Errorf("%d tokens were asked for, want one", n)
	}
	p := e.transactions.Get(id)
	if p.Caller != authtest.Tenant+"/ada" || p.Operations[0].Caller != "" {
		t.Errorf("caller %q, operations %+v", p.Caller, p.Operations)
	}
	_, shown := e.call(http.MethodGet, "/api/deliveryrequests/"+id, "")
	if strings.Contains(string(shown), authtest.Tenant) || strings.Contains(e.log.String(), authtest.Tenant) {
		t.Errorf("the caller is shown or logged: %s\n%s", shown, e.log)
	}
}

// Ensure that calls without a token, or without the role, put the transaction
// off: nobody's delivery is rejected for what is wrong with us.
func TestBackendsLockTheWorkflowOut(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		prepare func(*authtest.Identity)
	}{
		"no token":           {[]string{"BACKEND_AUDIENCE", ""}, func(*authtest.Identity) {}},
		"none can be had":    {nil, func(i *authtest.Identity) { i.SetDown(true) }},
		"one without a role": {nil, func(i *authtest.Identity) { i.SetRoles("Reader") }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEntraWorld(t, append(c.changes, "CALL_TIMEOUT_SECONDS", "0.2", "CALL_ATTEMPTS", "1")...)
			c.prepare(e.identity)
			e.as("ada", "Client")
			id := e.post(deliveryBody).TransactionID
			view := e.transaction(id)
			if view.State != workflow.Running || view.Steps[0].Effect != workflow.EffectNo || view.Steps[0].State != workflow.StepPending {
				t.Errorf("got %+v", view)
			}
		})
	}
}

// Ensure that a client gets nothing at another's transaction, with the very
// answer of an unknown one.
func TestAnothersTransaction(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	for name, id := range map[string]string{"settled": "mine-1", "on its way": "mine-2"} {
		t.Run(name, func(t *testing.T) {
			e.as("ada", "Client")
			resp, data := e.call(http.MethodPut, "/api/deliveryrequests/"+id, strings.Replace(deliveryBody, "package-1", "package-"+id, 1))
			var r receipt
			decode(t, data, &r)
			if resp.StatusCode != http.StatusAccepted {
				t.Fatalf("%d %s", resp.StatusCode, data)
			}
			if id == "mine-1" {
				e.settle(resp, data)
			}
			e.as("bob", "Client", "Operator", "Scheduler")
			for _, c := range []struct{ method, rest, body string }{
				{"GET", "", ""}, {"PATCH", "", changeBody}, {"DELETE", "", ""}, {"GET", "/operations/" + r.OperationID, ""},
			} {
				answer := func(id string) problem.Problem {
					_, p := e.refused(http.StatusNotFound, c.method, "/api/deliveryrequests/"+id+c.rest, c.body)
					p.Instance = ""
					return p
				}
				if diff := cmp.Diff(answer("nobodys"), answer(id)); diff != "" {
					t.Errorf("%s (-unknown +another's):\n%s", c.method, diff)
				}
			}
			same := strings.Replace(deliveryBody, "package-1", "package-"+id, 1)
			_, equal := e.refused(http.StatusConflict, "PUT", "/api/deliveryrequests/"+id, same)
			_, other := e.refused(http.StatusConflict, "PUT", "/api/deliveryrequests/"+id, deliveryBody)
			if diff := cmp.Diff(other, equal); diff != "" {
				t.Errorf("what the other asked for shows (-other content +same content):\n%s", diff)
			}
			e.as("ada", "Client")
			if resp, data := e.call(http.MethodDelete, "/api/deliveryrequests/"+id, ""); resp.StatusCode != http.StatusAccepted {
				t.Errorf("the owner: %d %s", resp.StatusCode, data)
			}
			e.producer.take()
		})
	}
}

// strangersCancel is the event of a cancel that Ingest refuses from bob: it would
// have to come into the hub in another way. It returns where it shows.
func strangersCancel(t *testing.T, id string) (event []byte, location string) {
	t.Helper()
	cancel := engine.Envelope{TransactionID: id, OperationID: "o-9", Operation: "cancel", AcceptedAt: time.Now(), Caller: authtest.Tenant + "/bob"}
	return encode(t, cancel), "/api/deliveryrequests/" + id + "/operations/o-9"
}

// Ensure that a cancel of another's is refused before the delivery is here, and
// that the workflow judges by itself: one that gets into the hub all the same does
// not stop the delivery.
func TestAnothersCancelComesFirst(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	_, data := e.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	var ada receipt
	decode(t, data, &ada)
	delivery := e.producer.take()
	e.as("bob", "Client")
	e.refused(http.StatusNotFound, http.MethodDelete, ada.TransactionURL, "")
	e.refused(http.StatusNotFound, http.MethodGet, ada.TransactionURL, "")
	if events := e.producer.take(); len(events) > 0 {
		t.Fatalf("sent %s", events)
	}
	cancel, location := strangersCancel(t, ada.TransactionID)
	if status := e.relayAll(cancel); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	e.work()
	if p := e.transactions.Get(ada.TransactionID); p == nil || p.State != workflow.Accepted {
		t.Fatalf("got %+v", p)
	}
	if status := e.relayAll(delivery...); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	e.work()
	resp, data := e.call(http.MethodGet, location, "") // it has ended, and tells nothing of the transaction
	if resp.StatusCode != http.StatusOK || !containsText(data, `"state":"Refused"`) {
		t.Errorf("bob's cancel: %d %s", resp.StatusCode, data)
	}
	e.refused(http.StatusNotFound, http.MethodGet, ada.TransactionURL, "")
	e.as("ada", "Client")
	view := e.transaction(ada.TransactionID)
	if view.State != workflow.Completed || len(view.Operations) != 1 {
		t.Errorf("got %+v", view)
	}
	e.refused(http.StatusNotFound, http.MethodGet, ada.TransactionURL+"/operations/"+strings.Repeat("o", 8), "")
}

// Ensure that an operation of another's that comes through the queue has no
// effect on a transaction that is there.
func TestAnothersOperationInTheQueue(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	id := e.post(deliveryBody).TransactionID
	cancel := engine.Envelope{TransactionID: id, OperationID: "o-9", Operation: "cancel", AcceptedAt: time.Now(), Caller: authtest.Tenant + "/bob"}
	if status := e.deliver("Schedule", "o-9", encode(t, cancel), nil); status != http.StatusOK {
		t.Fatalf("Schedule answered %d", status)
	}
	e.work()
	if view := e.transaction(id); view.State != workflow.Completed || len(view.Operations) != 1 {
		t.Errorf("got %+v", view)
	}
}

// Ensure that an operator sees all transactions, by Operations alone, and that
// the record names who it was.
func TestOperatorWithToken(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	id := e.post(deliveryBody).TransactionID
	e.as("olga", "Operator")
	e.refused(http.StatusForbidden, http.MethodGet, "/api/deliveryrequests/"+id, "")
	story := ask[struct{ Transaction workflow.Progress }](e.world, 200, "GET", "/transactions/"+id, "")
	if story.Transaction.ID != id {
		t.Errorf("got %+v", story)
	}
	e.keep([]byte("\xffrubbish"))
	dropped := ask[struct {
		Entry struct{ Acts []struct{ By string } }
	}](e.world, 200, "POST", "/quarantine/transactions/transactions.7/drop", actBody)
	if by := dropped.Entry.Acts[0].By; by != "ada ("+authtest.Tenant+"/olga)" {
		t.Errorf("the record names %q", by)
	}
	if resp, data := e.call(http.MethodGet, "/api/drones?zone=zone-000", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("drones: %d %s", resp.StatusCode, data)
	}
}

// Ensure that an issuer that is away is our trouble and not the caller's, at the
// start and later.
func TestIssuerIsAway(t *testing.T) {
	e := newEntraWorld(t)
	e.as("ada", "Client")
	const path = "/api/deliveryrequests/x"
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
	e.issuer.SetDown(true)
	e.issuer.Rotate()
	e.ahead.Store(int64(2 * time.Minute))
	e.refused(http.StatusNotFound, http.MethodGet, path, "") // the key is known
	e.as("ada", "Client")
	header, p := e.refused(http.StatusServiceUnavailable, http.MethodGet, path, "")
	if header.Get("Retry-After") != "5" || header.Get("WWW-Authenticate") != "" || strings.Contains(p.Detail, "http") {
		t.Errorf("got %v, %+v", header, p)
	}
	e.issuer.SetDown(false)
	e.ahead.Add(int64(5 * time.Second))
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
}

// Ensure that what a client says of itself counts for nothing where the handler
// checks no tokens: all share their keys then, and nobody gets into another's.
func TestCallersAreNotTakenFromHeaders(t *testing.T) {
	for _, mode := range []string{"off", "keys"} {
		w := newWorld(t, "AUTH_MODE", mode)
		var first, second receipt
		_, data := w.call(http.MethodPost, "/api/deliveryrequests", deliveryBody, "Idempotency-Key", "k", "X-MS-CLIENT-PRINCIPAL-ID", "ada")
		decode(t, data, &first)
		_, data = w.call(http.MethodPost, "/api/deliveryrequests", deliveryBody, "Idempotency-Key", "k", "X-MS-CLIENT-PRINCIPAL-ID", "bob")
		decode(t, data, &second)
		if first.TransactionID != second.TransactionID || !second.Repeated {
			t.Errorf("%s: got %+v and %+v", mode, first, second)
		}
		for _, r := range w.requests.kept {
			if r.Caller != "" {
				t.Errorf("%s: the caller is %q", mode, r.Caller)
			}
		}
	}
}
