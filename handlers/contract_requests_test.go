package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

const requestPath = "/deliveryrequests"

var changeBody = `{"deliverBy":"` + pickupTime.Add(5*time.Hour).Format(time.RFC3339) + `"}`

// large is a body over every limit.
var large = `{"ownerId":"` + strings.Repeat("x", engine.MaxBody) + `"}`

func requestExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.account("owner-1", "active")
	other := strings.Replace(deliveryBody, "2.5", "3.5", 1)
	text := []string{"Content-Type", "text/plain"}
	key := []string{"Idempotency-Key", "k-1"}
	c.all(w,
		exchange{"post", "POST", requestPath, deliveryBody, nil, 202, false},
		exchange{"post with a key", "POST", requestPath, deliveryBody, key, 202, false},
		exchange{"post again with the key", "POST", requestPath, deliveryBody, key, 202, false},
		exchange{"post something else with the key", "POST", requestPath, other, key, 422, true},
		exchange{"post with a long key", "POST", requestPath, deliveryBody, []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, false},
		exchange{"post an unknown field", "POST", requestPath, strings.Replace(deliveryBody, "ownerId", "owner", 1), nil, 400, false},
		exchange{"post no weight", "POST", requestPath, strings.Replace(deliveryBody, "2.5", "0", 1), nil, 400, false},
		exchange{"post an odd latitude", "POST", requestPath, strings.Replace(deliveryBody, "47.64", "91", 1), nil, 400, false},
		exchange{"post a delivery before its pickup", "POST", requestPath, strings.Replace(deliveryBody, "+02:00", "+05:00", 1), nil, 400, true},
		exchange{"post a pickup far ahead", "POST", requestPath, strings.Replace(deliveryBody, pickupTime.Format("2006"), "2126", 1), nil, 400, true},
		exchange{"post no JSON", "POST", requestPath, "{", nil, 400, false},
		exchange{"post too much", "POST", requestPath, large, nil, 413, false},
		exchange{"post text", "POST", requestPath, deliveryBody, text, 415, false},

		exchange{"put", "PUT", requestPath + "/mine-1", deliveryBody, nil, 202, false},
		exchange{"put again", "PUT", requestPath + "/mine-1", deliveryBody, nil, 202, false},
		exchange{"put something else", "PUT", requestPath + "/mine-1", other, nil, 409, true},
		exchange{"put under a forged id", "PUT", requestPath + "/t1-" + strings.Repeat("0", 48), deliveryBody, nil, 404, true},
		exchange{"put under an odd id", "PUT", requestPath + "/a%20b", deliveryBody, nil, 400, false},
		exchange{"put under dots", "PUT", requestPath + "/..", deliveryBody, nil, 400, false},
		exchange{"put nothing in it", "PUT", requestPath + "/mine-1", "{}", nil, 400, false},
		exchange{"put too much", "PUT", requestPath + "/mine-1", large, nil, 413, false},
		exchange{"put text", "PUT", requestPath + "/mine-1", deliveryBody, text, 415, false},
	)
	changed := []string{"Idempotency-Key", "k-2"}
	c.all(w,
		exchange{"patch", "PATCH", requestPath + "/mine-1", changeBody, changed, 202, false},
		exchange{"patch something else with the key", "PATCH", requestPath + "/mine-1", `{"pickup":{"latitude":1,"longitude":2}}`, changed, 422, true},
		exchange{"patch nothing", "PATCH", requestPath + "/mine-1", "{}", nil, 400, false},
		exchange{"patch what nobody asked for", "PATCH", requestPath + "/nobody", changeBody, nil, 404, true},
		exchange{"patch too much", "PATCH", requestPath + "/mine-1", large, nil, 413, false},
		exchange{"patch text", "PATCH", requestPath + "/mine-1", changeBody, text, 415, false},
		exchange{"delete under an odd id", "DELETE", requestPath + "/a%20b", "", nil, 400, false},
		exchange{"delete what nobody asked for", "DELETE", requestPath + "/nobody", "", nil, 404, true},
		exchange{"delete with the key of a patch", "DELETE", requestPath + "/mine-1", "", changed, 422, true},
		exchange{"delete", "DELETE", requestPath + "/mine-1", "", nil, 202, false},
	)
	w.settleAll()
	c.all(w,
		exchange{"patch what was cancelled", "PATCH", requestPath + "/mine-1", changeBody, nil, 409, true},
		exchange{"delete what was cancelled", "DELETE", requestPath + "/mine-1", "", nil, 409, true},
	)
}

// settleAll has everything relayed and worked on.
func (w *world) settleAll() {
	w.t.Helper()
	if status := w.relayAll(w.producer.take()...); status != http.StatusOK {
		w.t.Fatalf("Relay answered %d", status)
	}
	w.work()
}

// refusedExchanges are the refusals of a hub that does not answer.
func refusedExchanges(t *testing.T, c *contract) {
	w := newWorld(t, "ACCEPT_TIMEOUT_SECONDS", "0.2")
	hold := make(chan struct{})
	w.producer.hold = hold
	start := time.Now()
	c.check(w, exchange{"post without an acknowledgement", "POST", requestPath, deliveryBody, nil, 503, false})
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("given up after %v", took)
	}
	_, data := w.call(http.MethodPut, routePrefix+requestPath+"/mine-1", deliveryBody)
	if !containsText(data, `"transactionId":"mine-1"`) || !containsText(data, "may have been accepted") {
		t.Errorf("the client is not told under which id to repeat: %s", data)
	}
	close(hold)
}

// TestOverloadRefusesAtTheDoor has as many requests under way as Ingest lets in at
// first: the next one is refused with its body unread, and leaves nothing behind.
func TestOverloadRefusesAtTheDoor(t *testing.T) {
	const first = 500 // see ingest.Throttle
	w := newWorld(t)
	entered, goOn, statuses := make(chan struct{}), make(chan struct{}), make(chan int)
	post := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, routePrefix+requestPath, body)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		w.app.ServeHTTP(answer, r)
		return answer
	}
	for range first {
		var once sync.Once
		body := io.MultiReader(readerFunc(func([]byte) (int, error) {
			once.Do(func() { entered <- struct{}{}; <-goOn })
			return 0, io.EOF
		}), strings.NewReader(deliveryBody))
		go func() { statuses <- post(body).Code }()
	}
	for range first {
		<-entered
	}
	unread := strings.NewReader(deliveryBody)
	if a := post(unread); a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") == "" ||
		!containsText(a.Body.Bytes(), "nothing was accepted") || unread.Len() != len(deliveryBody) {
		t.Errorf("got %d, %v, %s; %d bytes were not read", a.Code, a.Header(), a.Body, unread.Len())
	}
	close(goOn)
	for range first {
		if status := <-statuses; status != http.StatusAccepted {
			t.Errorf("one that was let in got %d", status)
		}
	}
	if n := len(w.producer.take()); n != first {
		t.Errorf("the hub has %d events, want %d", n, first)
	}
	if a := post(strings.NewReader(deliveryBody)); a.Code != http.StatusAccepted {
		t.Errorf("afterwards: %d", a.Code)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestFullBufferRefusesAtOnce sends more than the writer takes while the hub is
// silent: what is over is refused, and the rest is accepted in the end.
func TestFullBufferRefusesAtOnce(t *testing.T) {
	const callers = 8
	w := newWorld(t, "WRITER_BUFFER_EVENTS", "1", "WRITER_BATCH_EVENTS", "1")
	hold := make(chan struct{})
	w.producer.hold, w.producer.held = hold, make(chan struct{}, callers)
	type answer struct {
		status int
		retry  string
		body   []byte
	}
	answers := make(chan answer, callers)
	for n := range callers {
		go func() {
			resp, data := w.call(http.MethodPut, routePrefix+requestPath+"/mine-1", deliveryBody)
			answers <- answer{resp.StatusCode, resp.Header.Get("Retry-After"), data}
		}()
		if n == 0 {
			<-w.producer.held // the buffer is empty again
		}
	}
	const waiting = 3 // one on its way to each of the hub's partitions, one in the buffer
	for range callers - waiting {
		if a := <-answers; a.status != http.StatusServiceUnavailable || a.retry == "" || !containsText(a.body, "nothing was accepted") {
			t.Errorf("got %d, Retry-After %q: %s", a.status, a.retry, a.body)
		}
	}
	close(hold)
	for range waiting {
		if a := <-answers; a.status != http.StatusAccepted {
			t.Errorf("got %d: %s", a.status, a.body)
		}
	}
}

func progressExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.account("owner-1", "active")
	resp, data := w.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", resp.StatusCode, data)
	}
	operation := strings.TrimPrefix(resp.Header.Get("Location"), routePrefix)
	transaction, _, _ := strings.Cut(operation, "/operations/")
	c.all(w,
		exchange{"a transaction on its way", "GET", transaction, "", nil, 200, false},
		exchange{"an operation on its way", "GET", operation, "", nil, 200, false},
		exchange{"a transaction of nobody", "GET", requestPath + "/nobody", "", nil, 404, true},
		exchange{"a transaction with an odd id", "GET", requestPath + "/a%20b", "", nil, 404, false},
	)
	w.settleAll()
	c.all(w,
		exchange{"a completed transaction", "GET", transaction, "", nil, 200, false},
		exchange{"its operation", "GET", operation, "", nil, 200, false},
		exchange{"an operation that it doesn't have", "GET", transaction + "/operations/nothing", "", nil, 404, true},
	)
	w.account("owner-1", "suspended")
	rejected := w.post(strings.Replace(deliveryBody, "package-1", "package-2", 1))
	c.check(w, exchange{"a rejected transaction", "GET", strings.TrimPrefix(rejected.TransactionURL, routePrefix), "", nil, 200, false})
}

func (c *contract) all(w *world, exchanges ...exchange) {
	w.t.Helper()
	for _, e := range exchanges {
		c.check(w, e)
	}
}
