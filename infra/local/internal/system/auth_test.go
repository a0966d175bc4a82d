package system_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/auth/authtest"
)

// callers are the clients of a system whose callers have tokens.
type callers struct {
	*system.System
	t      *testing.T
	issuer *authtest.Issuer
}

// call makes a request as a caller with a role.
func (c *callers) call(oid, role, method, url, body string) answer {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.issuer.Token(oid, role))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// Ensure that the two apps do their work with nothing but tokens between them and
// their callers: a client's delivery completes while the backends let in the
// workflow's identity alone, which gets its token as in App Service.
func TestDeliveryWithTokens(t *testing.T) {
	t.Parallel()
	issuer := authtest.NewIssuer(t)
	identity := authtest.NewIdentity(t, issuer, "the-workflow", "Scheduler")
	set := map[string]string{
		"AUTH_MODE": "entra", "AUTH_ISSUER": issuer.URL(), "AUTH_AUDIENCE": authtest.Audience,
		"BACKEND_AUDIENCE": authtest.Audience, "BACKEND_CLIENT_ID": identity.ClientID,
		"FLEET_DRONES": "60", "FLIGHT_TIME_SCALE": "0.002",
	}
	maps.Copy(set, identity.Environment())
	log := &run{t: t}
	s, err := system.Start(t.Context(), system.Config{
		App: app, Addresses: freePorts, Settings: set, Split: true,
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
		HandlerLog: func(line string, _ bool) { fmt.Fprintln(log, line) },
		Notice:     func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", log.log.Bytes())
		}
	})
	c := &callers{System: s, t: t, issuer: issuer}
	app, backends := "http://"+s.Endpoints().HTTP, s.Endpoints().BackendsURL()

	if a := c.call("the-workflow", "Scheduler", http.MethodPut, backends+"/api/account/owner-1", `{"name":"Contoso"}`); a.Status >= 300 {
		t.Fatalf("put the account: %d %s", a.Status, a.Body)
	}
	at := app + "/api/deliveryrequests/with-token"
	if a := c.call("owner-1", "Client", http.MethodPut, at, request("p-token", later())); a.Status != http.StatusAccepted {
		t.Fatalf("put the request: %d %s", a.Status, a.Body)
	}
	await(t, "the delivery to complete", func() bool {
		a := c.call("owner-1", "Client", http.MethodGet, at, "")
		return a.Status == http.StatusOK && decode[progress](t, a).State == "Completed"
	})
	if identity.Asked() == 0 {
		t.Error("the workflow has asked for no token")
	}

	for what, got := range map[string]struct{ status, want int }{
		"nobody asks":                    {getJSON(t, at, nil), http.StatusUnauthorized},
		"nobody asks the backends":       {getJSON(t, backends+"/api/deliveries/with-token", nil), http.StatusUnauthorized},
		"nobody runs a function":         {runSweep(t, app, ""), http.StatusUnauthorized},
		"with its key it runs":           {runSweep(t, app, s.Endpoints().MasterKey), http.StatusAccepted},
		"another account is ordered on":  {c.call("ada", "Client", http.MethodPut, app+"/api/deliveryrequests/other", request("p-other", time.Now().Add(time.Hour))).Status, http.StatusForbidden},
		"the owner follows":              {c.call("owner-1", "Client", http.MethodGet, at+"/status", "").Status, http.StatusOK},
		"another client follows":         {c.call("bob", "Client", http.MethodGet, at+"/status", "").Status, http.StatusNotFound},
		"anybody asks who is alive":      {getJSON(t, app+"/api/live", nil), http.StatusOK},
		"another client asks":            {c.call("bob", "Client", http.MethodGet, at, "").Status, http.StatusNotFound},
		"another client cancels":         {c.call("bob", "Client", http.MethodDelete, at, "").Status, http.StatusNotFound},
		"a client asks the backends":     {c.call("owner-1", "Client", http.MethodGet, backends+"/api/deliveries/with-token", "").Status, http.StatusForbidden},
		"a client asks Operations":       {c.call("owner-1", "Client", http.MethodGet, app+"/api/operations/transactions", "").Status, http.StatusForbidden},
		"an operator asks Operations":    {c.call("olga", "Operator", http.MethodGet, app+"/api/operations/transactions/with-token", "").Status, http.StatusOK},
		"an operator asks for the fleet": {c.call("olga", "Operator", http.MethodGet, backends+"/api/drones?zone=zone-000", "").Status, http.StatusOK},
	} {
		if got.status != got.want {
			t.Errorf("%s: %d, want %d", what, got.status, got.want)
		}
	}
	location := c.call("owner-1", "Client", http.MethodDelete, at, "").Header.Get("Location")
	await(t, "the cancel to be applied", func() bool {
		a := c.call("owner-1", "Client", http.MethodGet, app+location, "")
		return a.Status == http.StatusOK && decode[struct{ State string }](t, a).State == "Applied"
	})
	if text := log.text(); strings.Contains(text, authtest.Tenant) || strings.Contains(text, "eyJ") {
		t.Error("the log has a caller or a token in it")
	}
}

// runSweep runs Sweep by the host's /admin, with a key, and returns the status.
func runSweep(t *testing.T, app, key string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, app+"/admin/functions/Sweep", strings.NewReader(`{"input":""}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-functions-key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// text returns what was logged.
func (r *run) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}
