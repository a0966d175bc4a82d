package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/go-cmp/cmp"
)

// contract is docs/openapi.yaml.
type contract struct {
	doc    *openapi3.T
	router routers.Router
	// seen are the documented answers that were given: "getDelivery 200".
	seen map[string]bool
}

func loadContract(t *testing.T) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("docs/openapi.yaml: %v", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &contract{doc: doc, router: router, seen: map[string]bool{}}
}

// operations are the document's, as "GET account/{id}".
func (c *contract) operations() map[string]*openapi3.Operation {
	all := map[string]*openapi3.Operation{}
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			all[method+" "+strings.TrimPrefix(path, "/")] = operation
		}
	}
	return all
}

// TestContractHasEveryEndpoint holds the table and the document to each other.
func TestContractHasEveryEndpoint(t *testing.T) {
	c := loadContract(t)
	documented := c.operations()
	var table []string
	ids := map[string]bool{}
	for _, f := range newWorld(t).app.functions {
		for _, e := range f.endpoints {
			name := e.method + " " + e.path
			table = append(table, name)
			operation := documented[name]
			if operation == nil {
				continue // reported below
			}
			if diff := cmp.Diff(f.requirements(), c.security(operation)); diff != "" {
				t.Errorf("%s: who may call (-table +document):\n%s", name, diff)
			}
			if ids[operation.OperationID] || operation.OperationID == "" {
				t.Errorf("%s: the operationId %q is missing or not its own", name, operation.OperationID)
			}
			ids[operation.OperationID] = true
		}
	}
	slices.Sort(table)
	if diff := cmp.Diff(table, slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("(-table +document):\n%s", diff)
	}
}

// requirements are the document's for the callers of f: a function key, or a
// token with one of the roles.
func (f function) requirements() openapi3.SecurityRequirements {
	all := openapi3.SecurityRequirements{}
	if f.anonymous {
		return all
	}
	all = append(all, openapi3.SecurityRequirement{"functionKey": []string{}})
	for _, role := range f.roles {
		all = append(all, openapi3.SecurityRequirement{"entraId": []string{string(role)}})
	}
	return all
}

// security are the document's requirements for the callers of an operation.
func (c *contract) security(operation *openapi3.Operation) openapi3.SecurityRequirements {
	if operation.Security != nil {
		return *operation.Security
	}
	return c.doc.Security
}

// exchange is a request and what is expected of it.
type exchange struct {
	name         string
	method, path string // below the prefix
	body         string
	headers      []string
	status       int
	// sound is set for a request that is refused for another reason than its
	// form: the schemas accept it.
	sound bool
}

// check makes the request and holds it and its answer to the document.
func (c *contract) check(w *world, e exchange) {
	w.t.Helper()
	input := c.checkAnswer(w, e)
	if input == nil {
		return
	}
	err := openapi3filter.ValidateRequest(context.Background(), input)
	if accepted := e.status < 300 || e.sound || e.status == http.StatusServiceUnavailable; accepted != (err == nil) {
		w.t.Errorf("%s: answered %d, but by the document the request is: %v", e.name, e.status, err)
	}
}

// inside is what no refusal says: names and addresses of services, paths of
// sources, the words of errors. An id that the system mints may hold any three letters.
var inside = regexp.MustCompile(`127\.0\.0\.1|localhost|connection refused|\.go\b|goroutine|https?://|azcosmos|servicebus\.|token|\bkid\b`)

// checkAnswer makes the request and holds its answer to the document. It returns
// the request for further checks, nil if the answer was another one.
func (c *contract) checkAnswer(w *world, e exchange) *openapi3filter.RequestValidationInput {
	w.t.Helper()
	resp, data := w.call(e.method, routePrefix+e.path, e.body, e.headers...)
	if resp.StatusCode != e.status {
		w.t.Errorf("%s: answered %d %s, want %d", e.name, resp.StatusCode, data, e.status)
		return nil
	}
	if told := inside.Find(data); told != nil && e.status >= 400 {
		w.t.Errorf("%s: the refusal tells of the inside (%s): %s", e.name, told, data)
	}
	r, err := http.NewRequest(e.method, routePrefix+e.path, strings.NewReader(e.body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = resp.Request.Header.Clone()
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		w.t.Errorf("%s: %v", e.name, err)
		return nil
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
		},
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header,
		Body: io.NopCloser(bytes.NewReader(data)), Options: input.Options,
	})
	if err != nil {
		w.t.Errorf("%s: the answer %d %s is not as documented: %v", e.name, resp.StatusCode, data, err)
	}
	c.seen[route.Operation.OperationID+" "+strconv.Itoa(e.status)] = true
	return input
}

// unseen returns the documented answers that no exchange has shown.
func (c *contract) unseen() []string {
	var missing []string
	for _, operation := range c.operations() {
		for status := range operation.Responses.Map() {
			if answer := operation.OperationID + " " + status; !c.seen[answer] {
				missing = append(missing, answer)
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// TestContractIsKept makes every documented answer happen, and holds each to
// its schema.
func TestContractIsKept(t *testing.T) {
	c := loadContract(t)
	for _, suite := range []func(*testing.T, *contract){
		requestExchanges, refusedExchanges, progressExchanges, trackingExchanges, accountExchanges, packageExchanges,
		bookingExchanges, assignmentExchanges, deliveryExchanges, operationsExchanges, healthExchanges, outageExchanges, callerExchanges,
	} {
		suite(t, c)
	}
	if missing := c.unseen(); len(missing) > 0 {
		t.Errorf("documented, but never seen:\n%s", strings.Join(missing, "\n"))
	}
}
