package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Ensure that callers are limited each for itself, and the workflow's own calls
// not at all.
func TestRateLimit(t *testing.T) {
	e := newEntraWorld(t, "RATE_LIMIT_PER_SECOND", "0.5", "RATE_LIMIT_BURST", "2")
	const path = "/api/deliveryrequests/x"
	e.as("the-workflow", "Scheduler", "Client", "Operator")
	for range 5 {
		e.account("owner-1", "active")
	}
	e.as("ada", "Client")
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
	header, _ := e.refused(http.StatusTooManyRequests, http.MethodGet, path, "")
	if header.Get("Retry-After") != "2" {
		t.Errorf("Retry-After %q", header.Get("Retry-After"))
	}
	e.refused(http.StatusTooManyRequests, http.MethodPost, "/api/deliveryrequests", "")
	e.as("bob", "Client")
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
	e.as("ada", "Client")
	e.ahead.Add(int64(2 * time.Second))
	e.refused(http.StatusNotFound, http.MethodGet, path, "")
	// Without tokens all callers are one.
	w := newWorld(t, "RATE_LIMIT_PER_SECOND", "0.5", "RATE_LIMIT_BURST", "1")
	for n, want := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
		if resp, data := w.call(http.MethodGet, path, ""); resp.StatusCode != want {
			t.Errorf("request %d: %d %s", n+1, resp.StatusCode, data)
		}
	}
}

// callerExchanges make every endpoint refuse who may not call it, and show an
// operator transactions with an owner, and with none yet.
func callerExchanges(t *testing.T, c *contract) {
	e := newEntraWorld(t)
	e.as("ada", "Client")
	owned := e.post(deliveryBody)
	_, data := e.call(http.MethodPost, "/api/deliveryrequests", deliveryBody) // its event stays away
	var early receipt
	decode(t, data, &early)
	e.producer.take()
	resp, data := e.call(http.MethodDelete, early.TransactionURL, "")
	e.settle(resp, data)
	e.as("olga", "Operator")
	c.check(e.world, exchange{"story with an owner", "GET", "/operations/transactions/" + owned.TransactionID, "", nil, 200, false})
	c.check(e.world, exchange{"story without one yet", "GET", "/operations/transactions/" + early.TransactionID, "", nil, 200, false})
	limited := newWorld(t, "RATE_LIMIT_PER_SECOND", "0.001", "RATE_LIMIT_BURST", "1")
	for name, operation := range c.operations() {
		if len(c.security(operation)) == 0 {
			continue
		}
		method, path, _ := strings.Cut(name, " ")
		path = "/" + variables.ReplaceAllString(path, "x-1")
		e.token = ""
		c.checkAnswer(e.world, exchange{operation.OperationID + " without a token", method, path, "", nil, 401, false})
		e.as("ada")
		c.checkAnswer(e.world, exchange{operation.OperationID + " without a role", method, path, "", nil, 403, false})
		if operation.Responses.Value("429") != nil && operation.OperationID != "putAssignment" { // that one has no drone free
			limited.call(method, routePrefix+path, "")
			c.checkAnswer(limited, exchange{operation.OperationID + " too often", method, path, "", nil, 429, false})
		}
	}
}
