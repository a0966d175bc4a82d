package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Ensure that with tokens nobody sees a list or does an act of operators without their
// role, at any route that there is below their path, and that what is refused changes
// nothing.
func TestNothingOfOperatorsWithoutTheirRole(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	id := e.post(deliveryBody).TransactionID
	e.keep([]byte("poison"))
	entry := e.quarantine.All()[0]
	stands := func() string {
		data, err := json.Marshal([]any{e.transactions.Get(id), e.quarantine.All()})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := stands()
	bodies := map[string]string{
		"giveup": noteBody, "acts": `{"act":"drop","ids":["` + entry.Source + "/" + entry.ID + `"],"by":"ada","why":"it is rubbish"}`,
	}
	routes := map[string]bool{}
	for _, f := range e.app.functions {
		for _, endpoint := range f.endpoints {
			below := strings.TrimPrefix(endpoint.path, operate.Path+"/")
			if below == endpoint.path {
				continue
			}
			routes[endpoint.method+" "+endpoint.path] = true
			path := strings.NewReplacer("{source}/{id}", entry.Source+"/"+entry.ID, "{id}", id).Replace(routePrefix + "/" + endpoint.path)
			body := bodies[below[strings.LastIndexByte(below, '/')+1:]]
			if body == "" && endpoint.method != http.MethodGet {
				body = actBody
			}
			for _, token := range []string{"", "junk", e.issuer.Token("eve"), e.issuer.Token("eve", "Client", "Scheduler", "operator", "Operators")} {
				e.token = token
				resp, data := e.call(endpoint.method, path, body)
				if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || strings.Contains(strings.ReplaceAll(string(data), path, ""), id) {
					t.Errorf("%s %s: %d %s", endpoint.method, path, resp.StatusCode, data)
				}
			}
		}
	}
	if after := stands(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	// All of the package's are among them, and the same asked by an operator is done.
	for _, endpoint := range e.app.services.operate.Endpoints() {
		if !routes[endpoint.Method+" "+endpoint.Path] {
			t.Errorf("%s %s was not tried", endpoint.Method, endpoint.Path)
		}
	}
	e.as("olga", "Operator")
	done := ask[record.Page[operate.Result]](e.world, http.StatusOK, http.MethodPost, "/acts", bodies["acts"])
	if len(done.Items) != 1 || !done.Items[0].Done || stands() == before {
		t.Errorf("as an operator: %+v", done)
	}
}
