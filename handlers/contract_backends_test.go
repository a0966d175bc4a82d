package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// by are the headers of a call on behalf of a transaction.
func by(transaction string, revision int) []string {
	return []string{"Transaction-Id", transaction, "Operation-Id", "o-1", "Revision", fmt.Sprint(revision)}
}

func accountExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	const path = "/account/owner-1"
	c.all(w,
		exchange{"no account", "GET", path, "", nil, 404, true},
		exchange{"create", "PUT", path, `{"name":"Contoso"}`, nil, 201, false},
		exchange{"change", "PUT", path, `{"name":"Contoso","status":"suspended"}`, nil, 200, false},
		exchange{"account", "GET", path, "", nil, 200, false},
		exchange{"odd id", "GET", "/account/a%20b", "", nil, 400, false},
		exchange{"odd status", "PUT", path, `{"status":"rich"}`, nil, 400, false},
		exchange{"too much", "PUT", path, large, nil, 413, false},
		exchange{"text", "PUT", path, "{}", []string{"Content-Type", "text/plain"}, 415, false},
	)
}

// effectExchanges are what PUT, GET and DELETE of every backend with an effect
// have in common, but for the status of a repeat. The id is transaction-1, the first
// transaction's.
func effectExchanges(w *world, c *contract, path, body, changed string, repeat int) {
	w.t.Helper()
	own := path + "/transaction-1"
	c.all(w,
		exchange{"nothing yet", "GET", own, "", nil, 404, true},
		exchange{"create", "PUT", own, body, by("transaction-1", 2), 201, false},
		exchange{"repeat", "PUT", own, body, by("transaction-1", 2), repeat, false},
		exchange{"change", "PUT", own, changed, by("transaction-1", 3), 200, false},
		exchange{"what is there", "GET", own, "", nil, 200, false},
		exchange{"an older revision", "PUT", own, body, by("transaction-1", 1), 409, true},
		exchange{"another transaction", "PUT", own, body, by("transaction-2", 1), 409, true},
		exchange{"for nobody", "PUT", own, body, nil, 400, false},
		exchange{"nothing in it", "PUT", own, "{}", by("transaction-1", 3), 400, false},
		exchange{"odd id", "GET", path + "/a%20b", "", nil, 400, false},
		exchange{"too much", "PUT", own, large, by("transaction-1", 3), 413, false},
		exchange{"text", "PUT", own, body, append(by("transaction-1", 3), "Content-Type", "text/plain"), 415, false},
		exchange{"undo for nobody", "DELETE", own, "", nil, 400, false},
	)
}

// undoExchanges end what effectExchanges have begun.
func undoExchanges(w *world, c *contract, path, body string) {
	w.t.Helper()
	own := path + "/transaction-1"
	c.all(w,
		exchange{"undo", "DELETE", own, "", by("transaction-1", 3), 204, false},
		exchange{"undo again", "DELETE", own, "", by("transaction-1", 3), 204, false},
		exchange{"come back", "PUT", own, body, by("transaction-1", 4), 410, true},
	)
}

func packageExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	const path, body = "/packages", `{"ownerId":"owner-1","size":"Small","weightKg":2.5,"tag":"fragile"}`
	effectExchanges(w, c, path, body, strings.Replace(body, "Small", "Large", 1), 204)
	now := time.Now().UTC()
	summary := fmt.Sprintf("/packages/summary/owner-1?year=%d&month=%d", now.Year(), int(now.Month()))
	c.all(w,
		exchange{"page", "GET", "/packages?ownerId=owner-1", "", nil, 200, false},
		exchange{"page of nobody", "GET", "/packages", "", nil, 400, false},
		exchange{"summary", "GET", summary, "", nil, 200, false},
		exchange{"summary of an odd month", "GET", "/packages/summary/owner-1?year=2026&month=13", "", nil, 400, false},
	)
	undoExchanges(w, c, path, body)
}

const wayBody = `{"pickup":{"latitude":47.64,"longitude":-122.13},"dropOff":{"latitude":47.61,"longitude":-122.33,"altitude":30}}`

func bookingExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	const path = "/thirdpartydeliveries"
	far := strings.Replace(wayBody, "47.61", "46.61", 1)
	effectExchanges(w, c, path, wayBody, far, 204)
	if _, data := w.call(http.MethodGet, routePrefix+path+"/transaction-1", ""); !containsText(data, `"required":true`) {
		t.Errorf("no carrier for what is far: %s", data)
	}
	undoExchanges(w, c, path, wayBody)
}

func assignmentExchanges(t *testing.T, c *contract) {
	w := newWorld(t, "FLEET_DRONES", "1", "FLEET_ZONES", "1")
	const path = "/dronedeliveries"
	body := strings.TrimSuffix(wayBody, "}") + `,"packageDetail":{"id":"package-1","size":"Small","weightKg":2.5},"expedited":true}`
	timed := strings.TrimSuffix(body, "}") + `,"pickupTime":"2126-05-04T10:00:00Z"}`
	effectExchanges(w, c, path, body, timed, 200)
	heavy := strings.Replace(body, "2.5", "200", 1)
	c.all(w,
		exchange{"too heavy", "PUT", path + "/transaction-3", heavy, by("transaction-3", 1), 422, true},
		exchange{"the last drone until the first one's flight", "PUT", path + "/transaction-4", body, by("transaction-4", 1), 201, false},
		exchange{"no drone is left", "PUT", path + "/transaction-5", body, by("transaction-5", 1), 429, true},
		exchange{"drones", "GET", "/drones?zone=zone-000", "", nil, 200, false},
		exchange{"drones of no zone", "GET", "/drones", "", nil, 400, false},
		exchange{"drones of an unknown zone", "GET", "/drones?zone=zone-999", "", nil, 404, true},
		exchange{"drone", "GET", "/drones/zone-000-00000", "", nil, 200, false},
		exchange{"no drone", "GET", "/drones/zone-000-00009", "", nil, 404, true},
		exchange{"odd drone", "GET", "/drones/a%20b", "", nil, 400, false},
	)
	w.pages(c, "/drones?zone=zone-000", 1)
	undoExchanges(w, c, path, body)
	w.ahead.Store(int64(time.Hour)) // the last drone is on its way
	c.check(w, exchange{"undo what was picked up", "DELETE", path + "/transaction-4", "", by("transaction-4", 2), 409, true})
}

func deliveryExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	const path = "/deliveries"
	now := time.Now()
	ago := func(d time.Duration) string { return now.Add(-d).UTC().Format(time.RFC3339) }
	body := fmt.Sprintf(`{"ownerId":"owner-1","packageId":"package-1",%s,"pickupTime":%q,"deliverBy":%q,"expedited":false,
		"confirmationRequired":"Picture","droneId":"zone-000-00001","departAt":%q,"pickupAt":%q,"arriveAt":%q}`,
		strings.Trim(wayBody, "{}")+"}", ago(3*time.Hour), ago(time.Hour), ago(3*time.Hour), ago(2*time.Hour), ago(time.Hour))
	effectExchanges(w, c, path, body, strings.Replace(body, `"expedited":false`, `"expedited":true`, 1), 200)
	const own = path + "/transaction-1"
	confirmation := `{"confirmationType":"Picture","geoCoordinates":{"latitude":47.61,"longitude":-122.33},"confirmationBlob":"aGk="}`
	expected := strings.Replace(body, `"arriveAt":"`+ago(time.Hour), `"arriveAt":"`+ago(-time.Hour), 1)
	const coming = path + "/transaction-7"
	c.check(w, exchange{"one that is expected", "PUT", coming, expected, by("transaction-7", 1), 201, false})
	text := []string{"Content-Type", "text/plain"}
	for _, part := range []string{"/owner", "/status", "/events", "/notifymerequests"} {
		c.all(w,
			exchange{part, "GET", own + part, "", nil, 200, false},
			exchange{part + " of nothing", "GET", path + "/transaction-9" + part, "", nil, 404, true},
			exchange{part + " of an odd id", "GET", path + "/a%20b" + part, "", nil, 400, false},
		)
	}
	c.all(w,
		exchange{"confirm", "POST", own + "/confirmations", confirmation, nil, 204, false},
		exchange{"confirm by voice", "POST", own + "/confirmations", strings.Replace(confirmation, "Picture", "Voice", 1), nil, 409, true},
		exchange{"confirm nothing", "POST", own + "/confirmations", "{}", nil, 400, false},
		exchange{"confirm what is not there", "POST", path + "/transaction-9/confirmations", confirmation, nil, 404, true},
		exchange{"confirm too much", "POST", own + "/confirmations", large, nil, 413, false},
		exchange{"confirm in text", "POST", own + "/confirmations", confirmation, text, 415, false},
		exchange{"notify", "POST", coming + "/notifymerequests", noticeBody, nil, 204, false},
		exchange{"notify of what has arrived", "POST", own + "/notifymerequests", noticeBody, nil, 409, true},
		exchange{"wishes", "GET", coming + "/notifymerequests", "", nil, 200, false},
		exchange{"notify nobody", "POST", coming + "/notifymerequests", "{}", nil, 400, false},
		exchange{"notify of nothing", "POST", path + "/transaction-9/notifymerequests", noticeBody, nil, 404, true},
		exchange{"notify too much", "POST", coming + "/notifymerequests", large, nil, 413, false},
		exchange{"notify in text", "POST", coming + "/notifymerequests", noticeBody, text, 415, false},
		exchange{"confirmed", "GET", own, "", nil, 200, false},
		exchange{"with a wish", "GET", coming, "", nil, 200, false},
		exchange{"page of nobody", "GET", "/deliveries", "", nil, 400, false},
	)
	for n := range 9 {
		c.check(w, exchange{"notify more", "POST", coming + "/notifymerequests", fmt.Sprintf(`{"sms":"%d"}`, n), nil, 204, false})
	}
	c.check(w, exchange{"notify too many", "POST", coming + "/notifymerequests", `{"sms":"one more"}`, nil, 409, true})
	w.pages(c, "/deliveries?ownerId=owner-1", 2)
	undoExchanges(w, c, path, body)
	c.all(w,
		exchange{"wishes of what was cancelled", "GET", own + "/notifymerequests", "", nil, 200, false},
		exchange{"status of what was cancelled", "GET", own + "/status", "", nil, 200, false},
		exchange{"events of what was cancelled", "GET", own + "/events", "", nil, 200, false},
	)
}

// pages reads all pages of a list, each held to the document, and expects so
// many items.
func (w *world) pages(c *contract, path string, items int) {
	w.t.Helper()
	got := 0
	for next := ""; ; {
		full := path
		if next != "" {
			full += "&continuation=" + next
		}
		c.check(w, exchange{"page", "GET", full, "", nil, 200, false})
		_, data := w.call(http.MethodGet, routePrefix+full, "")
		var page struct {
			Items        []any
			Continuation string
		}
		decode(w.t, data, &page)
		got += len(page.Items)
		if next = page.Continuation; next == "" {
			break
		}
	}
	if got != items {
		w.t.Errorf("%s: %d items, want %d", path, got, items)
	}
}

func healthExchanges(t *testing.T, c *contract) {
	c.all(newWorld(t),
		exchange{"live", "GET", "/live", "", nil, 200, false},
		exchange{"ready", "GET", "/ready", "", nil, 200, false},
		exchange{"page", "GET", "/ops", "", nil, 200, false},
		exchange{"its style", "GET", "/ops/page.css", "", nil, 200, false},
		exchange{"its script", "GET", "/ops/page.js", "", nil, 200, false},
		exchange{"its configuration", "GET", "/ops/config", "", nil, 200, false},
	)
	w := newWorld(t)
	w.down.Store(true)
	c.all(w,
		exchange{"live without anything", "GET", "/live", "", nil, 200, false},
		exchange{"ready without anything", "GET", "/ready", "", nil, 503, false},
	)
}

// outageExchanges make every endpoint that needs a service do without.
func outageExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.down.Store(true)
	detail := `"packageDetail":{"id":"package-1","size":"Small","weightKg":2.5}}`
	at := `"2126-05-04T10:00:00Z"`
	way := strings.TrimSuffix(wayBody, "}") + ","
	bodies := map[string]string{
		"postRequest": deliveryBody, "putRequest": deliveryBody, "patchRequest": changeBody,
		"putAccount": "{}", "putPackage": `{"ownerId":"o","size":"Small","weightKg":1}`, "putBooking": wayBody, "putAssignment": way + detail,
		"putDelivery": way + `"ownerId":"o","packageId":"p","droneId":"d","pickupTime":` + at + `,"deliverBy":` + at +
			`,"departAt":` + at + `,"pickupAt":` + at + `,"arriveAt":` + at + `}`,
		"postConfirmation": confirmationBody, "postRequestConfirmation": confirmationBody, "postNotice": noticeBody, "postRequestNotice": noticeBody,
		"retryTransaction": actBody, "wakeTransaction": actBody, "giveUpTransaction": noteBody, "redriveEntry": actBody, "dropEntry": actBody, "replayPartition": replayBody, "changeShards": actBody,
	}
	queries := map[string]string{
		"listPackages": "?ownerId=o", "listDeliveries": "?ownerId=o", "listDrones": "?zone=zone-000", "summarizePackages": "?year=2026&month=5",
	}
	for name, operation := range c.operations() {
		if slices.Contains([]string{"live", "ready", "showShards", "actOnSeveral", "page", "pageStyle", "pageScript", "pageConfig"}, operation.OperationID) {
			continue
		}
		method, path, _ := strings.Cut(name, " ")
		id := "transaction-1"
		if operation.OperationID == "getDrone" {
			id = "zone-000-00000"
		}
		if strings.Contains(path, "{source}") {
			id = "transactions.7"
		}
		path = strings.NewReplacer("{id}", id, "{operationId}", "o-1", "{source}", "transactions").Replace(path)
		c.check(w, exchange{operation.OperationID + " in an outage", method, "/" + path + queries[operation.OperationID],
			bodies[operation.OperationID], by("transaction-1", 1), 503, false})
	}
}
