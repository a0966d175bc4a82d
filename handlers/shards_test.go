package main

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// newShards returns a front whose new transactions go to a second shard, and that.
func newShards(t *testing.T) (front, second *world) {
	t.Helper()
	front, second = newWorld(t), newWorld(t, "SHARD", "2")
	front.elsewhere = second
	for _, c := range []shard.Change{
		{Act: shard.ActAdd, Name: "second", Weight: 100, Endpoints: shard.Endpoints{Hub: "requests-2", Database: "fabrikam-2"}},
		{Act: shard.ActClose, Shard: shard.First},
	} {
		if _, _, _, err := front.app.services.shards.Change(t.Context(), c, "ada", "test"); err != nil {
			t.Fatal(err)
		}
	}
	second.account("owner-1", "active")
	return front, second
}

// Ensure that a delivery is accepted and followed through the front, runs in its shard, and
// leaves nothing in the front's own.
func TestDeliveryInAnotherShard(t *testing.T) {
	front, second := newShards(t)
	resp, data := front.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	r := second.settle(resp, data)
	if n, ok := shard.Claimed(r.TransactionID); !ok || n != 2 {
		t.Errorf("%s is in shard %d", r.TransactionID, n)
	}
	if view := front.transaction(r.TransactionID); view.State != workflow.Completed || !view.Observed {
		t.Errorf("got %+v", view)
	}
	resp, data = front.call(http.MethodDelete, "/api/deliveryrequests/"+r.TransactionID, "")
	second.settle(resp, data)
	if view := front.transaction(r.TransactionID); view.State != workflow.Cancelled {
		t.Errorf("got %+v", view)
	}
	if resp, _ := front.call(http.MethodPut, "/api/deliveryrequests/order-1", deliveryBody); resp.StatusCode != http.StatusAccepted {
		t.Errorf("a chosen id: %d", resp.StatusCode)
	}
	if kept := front.requests.kept["order-1"]; kept.Shard != 2 || len(second.requests.kept) > 0 {
		t.Errorf("the directory has %+v, and the other shard %v", kept, second.requests.kept)
	}
	// It is closed.
	for _, a := range []shard.Act{shard.ActOpen, shard.ActClose} { // the first one takes what comes
		if _, _, _, err := front.app.services.shards.Change(t.Context(), shard.Change{Act: a, Shard: map[shard.Act]shard.Number{shard.ActOpen: 1, shard.ActClose: 2}[a]}, "ada", "test"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := front.app.services.shards.Change(t.Context(), shard.Change{Act: shard.ActClosed, Shard: 2}, "ada", "test"); err != nil {
		t.Fatal(err)
	}
	resp, data = front.call(http.MethodDelete, "/api/deliveryrequests/order-1", "")
	if resp.StatusCode != http.StatusNotFound { // it never ran
		t.Errorf("a change of what never ran: %d %s", resp.StatusCode, data)
	}
	resp, data = front.call(http.MethodPut, "/api/deliveryrequests/order-1", deliveryBody)
	var refused problem.Problem
	if err := json.Unmarshal(data, &refused); err != nil || resp.StatusCode != http.StatusConflict || refused.Detail != "what is in a closed shard can't be changed any more" {
		t.Errorf("a put into a closed shard: %d %s", resp.StatusCode, data)
	}
	if view := front.transaction(r.TransactionID); view.State != workflow.Cancelled {
		t.Errorf("got %+v", view)
	}
	if len(front.transactions.All()) > 0 || len(front.producer.take()) > 0 || front.queue.Sent() > 0 || len(second.quarantine.All()) > 0 {
		t.Error("the first shard took part")
	}
}

// Ensure that the front's operators are told which shard has a transaction, and are told of none
// where nobody knows.
func TestOperatorsAreToldTheShard(t *testing.T) {
	front, second := newShards(t)
	resp, data := front.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	r := second.settle(resp, data)
	resp, data = front.call(http.MethodPut, "/api/deliveryrequests/order-1", deliveryBody)
	second.settle(resp, data)
	for id, at := range map[string]any{r.TransactionID: 2.0, "order-1": 2.0, "order-2": nil} {
		for method, path := range map[string]string{http.MethodGet: "", http.MethodPost: "/retry"} {
			refused := ask[problem.Problem](front, http.StatusNotFound, method, "/transactions/"+id+path, actBody)
			if got := refused.Extensions[operate.ShardMember]; got != at {
				t.Errorf("%s of %s: %+v, want %v", method, id, refused, at)
			}
		}
		if at != nil {
			if story := ask[operate.Story](second, http.StatusOK, http.MethodGet, "/transactions/"+id, ""); story.Transaction.ID != id {
				t.Errorf("%+v", story)
			}
		}
	}
	if refused := ask[problem.Problem](second, http.StatusNotFound, http.MethodGet, "/transactions/order-2", ""); refused.Extensions != nil {
		t.Errorf("the shard itself: %+v", refused)
	}
}

// Ensure that the wakes of a shard's transactions are its own.
func TestWakesNameTheirShard(t *testing.T) {
	_, second := newShards(t)
	second.backendsDown.Store(true)
	body := encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "start", AcceptedAt: time.Now(), Body: json.RawMessage(deliveryBody), Shard: 2})
	if status := second.relayAll(body); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	second.work()
	second.backendsDown.Store(false)
	second.ahead.Store(int64(time.Hour))
	second.work()
	if p := second.transactions.Get("t-1"); p == nil || p.State != workflow.Completed || p.Wake == 0 || len(second.quarantine.All()) > 0 {
		t.Errorf("got %+v, %+v", p, second.quarantine.All())
	}
}

// Ensure that what belongs to another shard is kept back wherever it comes to, and is
// not run, not even by an operator.
func TestOtherShardIsQuarantined(t *testing.T) {
	first := encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "start", AcceptedAt: time.Now(), Body: json.RawMessage(deliveryBody)})
	for name, come := range map[string]func(*world) int{
		"Relay":                  func(w *world) int { return w.relayAll(first) },
		"Schedule":               func(w *world) int { return w.deliver("Schedule", "o-1", first, nil) },
		"Supervise":              func(w *world) int { return w.deliver("Supervise", "o-1", first, nil) },
		"DeadLetterTransactions": func(w *world) int { return w.deliver("DeadLetterTransactions", "o-1", first, nil) },
	} {
		w := newWorld(t, "SHARD", "2")
		if status := come(w); status != http.StatusOK {
			t.Errorf("%s answered %d\n%s", name, status, w.log)
			continue
		}
		e := w.only()
		if want := quarantine.ReasonOtherShard; e.Reason != want && name != "DeadLetterTransactions" || e.TransactionID != "t-1" {
			t.Errorf("%s: kept as %+v", name, e)
		}
		refused := ask[problem.Problem](w, http.StatusConflict, http.MethodPost, "/quarantine/"+e.Source+"/"+e.ID+"/redrive", actBody)
		if refused.Detail != "message of another shard: it is of shard 1, and this is 2" {
			t.Errorf("%s: redriven, %+v", name, refused)
		}
		if story := w.transactions.Get("t-1"); story != nil || w.queue.Sent() > 0 {
			t.Errorf("%s: it was run", name)
		}
	}
}

// shardExchanges are an operator's with the map of the shards.
func shardExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.elsewhere = newWorld(t, "SHARD", "2")
	const at = "/operations/shards"
	body := func(change string) string { return `{"by":"ada","why":"it grows","change":` + change + `}` }
	added := body(`{"act":"add","name":"b","weight":10,"endpoints":{"hub":"requests-b","database":"fabrikam-b"}}`)
	w.elsewhere.down.Store(true)
	c.all(w, exchange{"add what is away", "POST", at, added, nil, 503, true})
	w.elsewhere.down.Store(false)
	c.all(w,
		exchange{"shards, never changed", "GET", at, "", nil, 200, false},
		exchange{"add", "POST", at, added, nil, 200, false},
		exchange{"add again", "POST", at, added, nil, 200, false},
		exchange{"pin", "POST", at, body(`{"act":"pin","caller":"contoso","shard":2}`), nil, 200, false},
		exchange{"shards", "GET", at, "", nil, 200, false},
		exchange{"pin to nowhere", "POST", at, body(`{"act":"pin","caller":"contoso","shard":3}`), nil, 409, true},
		exchange{"change without a word", "POST", at, "{}", nil, 400, false},
		exchange{"change with too much", "POST", at, large, nil, 413, false},
		exchange{"what is left", "GET", "/operations/left", "", nil, 200, false},
		exchange{"change in text", "POST", at, added, []string{"Content-Type", "text/plain"}, 415, false},
	)
	w.elsewhere.down.Store(true)
	c.all(w, exchange{"ready without another shard", "GET", "/ready", "", nil, 200, false})
	w.down.Store(true)
	c.all(w,
		exchange{"change without the store", "POST", at, added, nil, 503, true},
		exchange{"what is left, nobody can tell", "GET", "/operations/left", "", nil, 503, false},
	)
}
