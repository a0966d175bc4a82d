package main

import (
	"net/http"
	"testing"
	"time"
)

const noticeBody = `{"emailAddress":"someone@example.com"}`

const confirmationBody = `{"confirmationType":"FingerPrint","geoCoordinates":{"latitude":47.61,"longitude":-122.33},"confirmationBlob":"aGk="}`

// trackingExchanges follow a client's own delivery through the app that accepted it.
func trackingExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.account("owner-1", "active")
	const own = requestPath + "/mine-1"
	c.check(w, exchange{"status of nobody's", "GET", requestPath + "/nobody/status", "", nil, 404, true})
	resp, data := w.call(http.MethodPut, routePrefix+own, deliveryBody)
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", resp.StatusCode, data)
	}
	c.all(w,
		exchange{"status of what is on its way", "GET", own + "/status", "", nil, 404, true},
		exchange{"events of what is on its way", "GET", own + "/events", "", nil, 404, true},
		exchange{"confirm what is on its way", "POST", own + "/confirmations", confirmationBody, nil, 404, true},
		exchange{"notify of what is on its way", "POST", own + "/notifymerequests", noticeBody, nil, 404, true},
	)
	w.settleAll()
	c.all(w,
		exchange{"status", "GET", own + "/status", "", nil, 200, false},
		exchange{"events", "GET", own + "/events", "", nil, 200, false},
		exchange{"confirm too early", "POST", own + "/confirmations", confirmationBody, nil, 409, true},
		exchange{"confirm nothing", "POST", own + "/confirmations", "{}", nil, 400, false},
		exchange{"confirm too much", "POST", own + "/confirmations", large, nil, 413, false},
		exchange{"confirm in text", "POST", own + "/confirmations", confirmationBody, []string{"Content-Type", "text/plain"}, 415, false},
		exchange{"notify", "POST", own + "/notifymerequests", noticeBody, nil, 204, false},
		exchange{"notify nobody", "POST", own + "/notifymerequests", "{}", nil, 400, false},
		exchange{"notify too much", "POST", own + "/notifymerequests", large, nil, 413, false},
		exchange{"notify in text", "POST", own + "/notifymerequests", noticeBody, []string{"Content-Type", "text/plain"}, 415, false},
	)
	w.ahead.Store(int64(1000 * time.Hour))
	c.check(w, exchange{"confirm", "POST", own + "/confirmations", confirmationBody, nil, 204, false})
	c.check(w, exchange{"notify of what has arrived", "POST", own + "/notifymerequests", noticeBody, nil, 409, true})
	resp, data = w.call(http.MethodGet, "/api/deliveries/mine-1", "")
	if resp.StatusCode != http.StatusOK || !containsText(data, `"confirmationBlob":"aGk="`) {
		t.Errorf("the confirmation was not kept: %d %s", resp.StatusCode, data)
	}
	w.backendsDown.Store(true)
	resp, data = w.call(http.MethodGet, routePrefix+own+"/status", "")
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || containsText(data, "storage") {
		t.Errorf("while the backend is down: %d %s", resp.StatusCode, data)
	}
}

// Ensure that a client reaches its own delivery through the app, and nobody else's,
// which it can't tell from one that is not there.
func TestOnlyTheOwnerFollows(t *testing.T) {
	e := newEntraWorld(t)
	e.as("the-workflow", "Scheduler")
	e.account("owner-1", "active")
	e.as("ada", "Client")
	id := e.post(deliveryBody).TransactionID
	at := "/api/deliveryrequests/" + id
	for _, part := range []string{"/status", "/events"} {
		if resp, data := e.call(http.MethodGet, at+part, ""); resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("the owner, %s: %d %s", part, resp.StatusCode, data)
		}
		e.refused(http.StatusForbidden, http.MethodGet, "/api/deliveries/"+id+part, "") // only the workflow
	}
	e.refused(http.StatusConflict, http.MethodPost, at+"/confirmations", confirmationBody)

	before := e.identity.Asked()
	e.as("bob", "Client")
	for _, at := range []string{at, "/api/deliveryrequests/nobody"} {
		for _, way := range [][3]string{{http.MethodGet, "/status"}, {http.MethodGet, "/events"}, {http.MethodPost, "/confirmations", confirmationBody}, {http.MethodPost, "/notifymerequests", noticeBody}} {
			_, p := e.refused(http.StatusNotFound, way[0], at+way[1], way[2])
			if p.Detail != "" || p.Type != "not-found" {
				t.Errorf("%s: told %+v", way[1], p)
			}
		}
	}
	if e.identity.Asked() != before {
		t.Error("the backend was asked for a stranger")
	}
	e.as("olga", "Operator")
	e.refused(http.StatusForbidden, http.MethodGet, at+"/status", "")
}
