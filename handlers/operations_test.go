package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

const (
	actBody  = `{"by":"ada","why":"the Drone scheduler is repaired"}`
	noteBody = `{"by":"ada","note":"called the drone back by radio"}`
)

// stuckWorld is a world with a Stuck transaction: a drone can't carry its
// package, and the packages, behind a proxy, refuse to be undone.
type stuckWorld struct {
	*world
	id      string
	refuses atomic.Bool
}

func newStuckWorld(t *testing.T) *stuckWorld {
	t.Helper()
	s := &stuckWorld{}
	s.refuses.Store(true)
	transport := &http.Transport{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && s.refuses.Load() {
			problem.Write(w, r, problem.Problem{Type: "shipped", Title: "no", Status: http.StatusForbidden, Detail: "it is on its way"})
			return
		}
		target, err := url.Parse(s.server.URL + routePrefix)
		if err != nil {
			t.Error(err)
		}
		(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		proxy.Close()
		transport.CloseIdleConnections()
	})
	s.world = newWorld(t, "BACKEND_PACKAGE_URL", proxy.URL)
	s.account("owner-1", "active")
	s.id = s.post(strings.Replace(deliveryBody, "2.5", "90", 1)).TransactionID
	s.want(workflow.Stuck)
	return s
}

func (s *stuckWorld) want(state workflow.State) {
	s.t.Helper()
	if p := s.transactions.Get(s.id); p == nil || p.State != state {
		s.t.Fatalf("got %+v, want %s\n%s", p, state, s.log)
	}
}

// ask makes an operator's request, which must be answered with that status, and
// reads the answer.
func ask[T any](w *world, status int, method, path, body string) T {
	w.t.Helper()
	resp, data := w.call(method, routePrefix+"/"+operate.Path+path, body)
	if resp.StatusCode != status {
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, data, status)
	}
	if cache := resp.Header.Get("Cache-Control"); cache != "no-store" {
		w.t.Errorf("%s %s: Cache-Control %q", method, path, cache)
	}
	var answer T
	decode(w.t, data, &answer)
	return answer
}

type listPage[T any] struct {
	Items        []T
	Continuation string
}

func TestOperatorRetriesAStuckTransaction(t *testing.T) {
	s := newStuckWorld(t)
	w := s.world
	listed := ask[listPage[operate.Summary]](w, 200, "GET", "/transactions", "")
	if len(listed.Items) != 1 || listed.Items[0].ID != s.id || !strings.Contains(listed.Items[0].Reason, "it is on its way") {
		t.Errorf("listed %+v", listed)
	}
	for query, want := range map[string]int{
		"state=Running": 0, "state=open&step=package&cause=forbidden": 1, "state=open&step=drone": 0, "search=package-1": 1, "search=" + s.id: 1, "search=package": 0,
	} {
		if found := ask[listPage[operate.Summary]](w, 200, "GET", "/transactions?"+query, ""); len(found.Items) != want {
			t.Errorf("%s: %+v, want %d", query, found, want)
		}
	}
	story := ask[operate.Story](w, 200, "GET", "/transactions/"+s.id, "")
	if len(story.Remaining) != 1 || story.Remaining[0].Backend != "package" || story.Remaining[0].Path != "packages/package-1" ||
		story.Remaining[0].Error.Status != http.StatusForbidden || len(story.Acts) != 2 || story.Transaction.Request == nil {
		t.Errorf("story %+v", story)
	}
	s.refuses.Store(false)
	acted := ask[operate.Acted](w, 200, "POST", "/transactions/"+s.id+"/retry", actBody)
	if acted.State != workflow.Compensating || acted.Repeated {
		t.Errorf("acted %+v", acted)
	}
	w.work()
	s.want(workflow.Compensated)
	w.ahead.Add(int64(time.Millisecond)) // what is written in the same millisecond is the same act
	if again := ask[operate.Acted](w, 200, "POST", "/transactions/"+s.id+"/retry", actBody); !again.Repeated || again.State != workflow.Compensated {
		t.Errorf("again: %+v", again)
	}
	story = ask[operate.Story](w, 200, "GET", "/transactions/"+s.id, "")
	var by []string
	for _, e := range story.Transaction.History {
		by = append(by, e.By)
	}
	if !slices.Contains(by, "ada") || len(story.Remaining) > 0 || len(story.Acts) > 0 {
		t.Errorf("story %+v", story)
	}
}

func TestOperatorGivesUp(t *testing.T) {
	s := newStuckWorld(t)
	acted := ask[operate.Acted](s.world, 200, "POST", "/transactions/"+s.id+"/giveup", noteBody)
	if acted.State != workflow.GivenUp {
		t.Errorf("acted %+v", acted)
	}
	if view := s.transaction(s.id); view.State != workflow.GivenUp || view.Reason != "called the drone back by radio" {
		t.Errorf("the client sees %+v", view)
	}
	refused := ask[problem.Problem](s.world, 409, "POST", "/transactions/"+s.id+"/retry", actBody)
	if refused.Extensions["state"] != "GivenUp" || refused.Extensions["id"] != s.id || refused.Detail == "" {
		t.Errorf("refused with %+v", refused)
	}
}

func TestOperatorDecidesAboutPoison(t *testing.T) {
	w := newWorld(t)
	if status := w.relayAll([]byte("\xffrubbish")); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	listed := ask[listPage[quarantine.Entry]](w, 200, "GET", "/quarantine?reason=Unreadable&state=Kept&source=requests.3&continuation=after:", "")
	if len(listed.Items) != 1 || listed.Items[0].Body != "" {
		t.Fatalf("listed %+v", listed)
	}
	entry := "/quarantine/" + listed.Items[0].Source + "/" + listed.Items[0].ID
	shown := ask[quarantine.Entry](w, 200, "GET", entry, "")
	if body, err := shown.Bytes(); err != nil || string(body) != "\xffrubbish" || shown.Properties["k"] != "v" {
		t.Errorf("shown %+v, %v", shown, err)
	}
	if refused := ask[problem.Problem](w, 409, "POST", entry+"/redrive", actBody); !strings.Contains(refused.Detail, "malformed") || refused.Extensions["state"] != "Kept" {
		t.Errorf("refused with %+v", refused)
	}
	dropped := ask[operate.EntryActed](w, 200, "POST", entry+"/drop", actBody)
	if dropped.Entry.State != quarantine.Dropped || dropped.Entry.Acts[0].By != "ada" {
		t.Errorf("dropped %+v", dropped)
	}
	if shown := ask[quarantine.Entry](w, 200, "GET", entry, ""); shown.State != quarantine.Dropped || shown.Body == "" {
		t.Errorf("shown %+v", shown)
	}
}

func TestOperatorRedrivesAnOperation(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	w.keep(encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "start", AcceptedAt: time.Now(), Body: json.RawMessage(deliveryBody)}))
	const entry = "/quarantine/transactions/transactions.7"
	acted := ask[operate.EntryActed](w, 200, "POST", entry+"/redrive", actBody)
	if acted.Entry.State != quarantine.Redriven || !strings.Contains(acted.Result, "o-1 was put on record") {
		t.Errorf("acted %+v", acted)
	}
	w.work()
	if view := w.transaction("t-1"); view.State != workflow.Completed {
		t.Errorf("got %+v", view)
	}
	story := ask[operate.Story](w, 200, "GET", "/transactions/t-1", "")
	if len(story.Quarantine) != 1 || story.Quarantine[0].ID != "transactions.7" || len(story.Quarantine[0].Acts) != 1 {
		t.Errorf("quarantine %+v", story.Quarantine)
	}
}

// Ensure that an act is done to its end when nobody waits for it any more.
func TestActOutlivesItsClient(t *testing.T) {
	s := newStuckWorld(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ended, http.MethodPost, routePrefix+"/operations/transactions/"+s.id+"/giveup", strings.NewReader(noteBody))
	r.Header.Set("Content-Type", "application/json")
	s.app.ServeHTTP(httptest.NewRecorder(), r)
	s.want(workflow.GivenUp)
}

// keep puts a body into quarantine, as entry 7 of the deliveries.
func (w *world) keep(body []byte) {
	w.t.Helper()
	e := quarantine.Entry{
		ID: "transactions.7", Source: "transactions", SequenceNumber: 7, Reason: "TTLExpiredException", State: quarantine.Kept,
		TransactionID: quarantine.TransactionOf(body), At: time.Now().UTC(),
	}
	e.SetBody(body)
	if err := w.quarantine.Put(context.Background(), e); err != nil {
		w.t.Fatal(err)
	}
}

// Ensure that all that is wrong with an act is told at once.
func TestActTellsAllFaults(t *testing.T) {
	w := newWorld(t)
	for path, text := range map[string]string{
		"/transactions/t-1/retry": "why", "/transactions/t-1/giveup": "note", "/quarantine/q/q.1/redrive": "why", "/quarantine/q/q.1/drop": "why",
	} {
		long := strings.Repeat("x", operate.MaxWhy+1)
		for body, want := range map[string]string{
			`{}`:                           "/by is required, /" + text + " is required",
			`{"by":" ","colour":1}`:        "/colour is not a known field, /by is required, /" + text + " is required",
			`{"by":7,"` + text + `":null}`: "/by must be a string, not 7, /" + text + " is required",
			`{"by":"a\u0007b","` + text + `":"` + long + `"}`: "/by must not have control characters, /" + text + " must have up to 1000 characters",
		} {
			refused := ask[problem.Problem](w, 400, "POST", path, body)
			var got []string
			for _, f := range refused.Errors {
				got = append(got, f.Pointer+" "+f.Detail)
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s %.60s (-want +got):\n%s", path, body, diff)
			}
		}
	}
}

func operationsExchanges(t *testing.T, c *contract) {
	s := newStuckWorld(t)
	transaction := "/operations/transactions/" + s.id
	text := []string{"Content-Type", "text/plain"}
	const list, unknown = "/operations/transactions", "/operations/transactions/nobody"
	c.all(s.world,
		exchange{"status", "GET", "/operations/status", "", nil, 200, false},
		exchange{"stuck ones", "GET", list, "", nil, 200, false},
		exchange{"stuck ones by name", "GET", list + "?state=Stuck", "", nil, 200, false},
		exchange{"an odd state", "GET", list + "?state=Lost", "", nil, 400, false},
		exchange{"all of a caller", "GET", list + "?caller=ann&state=any", "", nil, 200, false},
		exchange{"a filter of all kinds", "GET", list + "?state=open&step=package&cause=forbidden&from=2026-01-01T00:00:00Z&until=2099-01-01T00:00:00Z", "", nil, 200, false},
		exchange{"an odd filter", "GET", list + "?state=open&step=boat", "", nil, 400, true},
		exchange{"search", "GET", list + "?search=package-1", "", nil, 200, false},
		exchange{"search in a state", "GET", list + "?search=package-1&state=any", "", nil, 400, true},
		exchange{"story", "GET", transaction, "", nil, 200, false},
		exchange{"story of nobody", "GET", unknown, "", nil, 404, true},
		exchange{"story of an odd id", "GET", list + "/a%20b", "", nil, 404, false},
	)
	several := func(act, ids string) string { return `{"act":"` + act + `","ids":[` + ids + `],` + actBody[1:] }
	const acts = "/operations/acts"
	c.all(s.world,
		exchange{"wake what is Stuck", "POST", transaction + "/wake", actBody, nil, 409, true},
		exchange{"wake several", "POST", acts, several("wake", `"`+s.id+`","nobody"`), nil, 200, false},
		exchange{"drop several", "POST", acts, several("drop", `"q/q.1"`), nil, 200, false},
		exchange{"act on nothing", "POST", acts, several("retry", ""), nil, 400, false},
		exchange{"act on one twice", "POST", acts, several("retry", `"a","a"`), nil, 400, true},
		exchange{"an odd act", "POST", acts, several("shout", `"a"`), nil, 400, false},
		exchange{"acts with too much", "POST", acts, large, nil, 413, false},
		exchange{"acts in text", "POST", acts, several("retry", `"a"`), text, 415, false},
	)
	for act, body := range map[string]string{"retry": actBody, "giveup": noteBody, "wake": actBody} {
		c.all(s.world,
			exchange{act + " of nobody", "POST", unknown + "/" + act, body, nil, 404, true},
			exchange{act + " of an odd id", "POST", list + "/a%20b/" + act, body, nil, 404, false},
			exchange{act + " without a word", "POST", transaction + "/" + act, "{}", nil, 400, false},
			exchange{act + " by nobody", "POST", transaction + "/" + act, strings.Replace(body, "ada", " ", 1), nil, 400, false},
			exchange{act + " by somebody long", "POST", transaction + "/" + act, strings.Replace(body, "ada", strings.Repeat("a", operate.MaxBy+1), 1), nil, 400, false},
			exchange{act + " in a colour", "POST", transaction + "/" + act, strings.Replace(body, "{", `{"colour":1,`, 1), nil, 400, false},
			exchange{act + " with too much", "POST", transaction + "/" + act, large, nil, 413, false},
			exchange{act + " in text", "POST", transaction + "/" + act, body, text, 415, false},
		)
	}
	c.all(s.world,
		exchange{"retry", "POST", transaction + "/retry", actBody, nil, 200, false},
		exchange{"wake what is open", "POST", transaction + "/wake", actBody, nil, 200, false},
		exchange{"give up what is being undone", "POST", transaction + "/giveup", noteBody, nil, 409, true},
	)
	s.work() // it is Stuck again
	c.all(s.world,
		exchange{"give up", "POST", transaction + "/giveup", noteBody, nil, 200, false},
		exchange{"retry what was given up", "POST", transaction + "/retry", strings.Replace(actBody, "ada", "bob", 1), nil, 409, true},
		exchange{"story of what was given up", "GET", transaction, "", nil, 200, false},
	)
	entryExchanges(t, c)
	partitionExchanges(t, c)
	shardExchanges(t, c)
}

func partitionExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	c.check(w, exchange{"partitions without an event", "GET", "/operations/partitions", "", nil, 200, false})
	w.producer.skipped = eventsOf(t, 2, 5)
	c.check(w, exchange{"partitions", "GET", "/operations/partitions", "", nil, 200, false})
	list := ask[struct{ Items []relay.Partition }](w, 200, "GET", "/partitions", "")
	if len(list.Items) != 2 || list.Items[0].Owner != "host-1/Relay" || list.Items[0].Lag != 3 || list.Items[1].Owner != "" {
		t.Errorf("partitions %+v", list.Items)
	}
	const path = "/operations/replay"
	w.checkpoints.kept["requests.relay.0"] = relay.Checkpoint{ID: "requests.relay.0", SequenceNumber: 4}
	c.all(w,
		exchange{"replay", "POST", path, replayBody, nil, 200, false},
		exchange{"replay of a part", "POST", path, `{"partition":"0","from":"3","to":3}`, nil, 200, false},
		exchange{"replay of nothing", "POST", path, `{}`, nil, 400, false},
		exchange{"replay from some day", "POST", path, `{"partition":"0","from":"soon"}`, nil, 400, false},
		exchange{"replay of no partition", "POST", path, `{"partition":"2","from":"3"}`, nil, 400, true},
		exchange{"replay from what is gone", "POST", path, `{"partition":"0","from":"1"}`, nil, 400, true},
		exchange{"replay with too much", "POST", path, large, nil, 413, false},
		exchange{"replay in text", "POST", path, replayBody, []string{"Content-Type", "text/plain"}, 415, false},
	)
	w.producer.skipped = append(w.producer.skipped[:1:1], w.producer.skipped[2:]...) // the second one expires
	c.check(w, exchange{"replay of what expires", "POST", path, `{"partition":"0","from":"3"}`, nil, 409, true})
	if kept := w.checkpoints.kept["requests.relay.0"]; kept.SequenceNumber != 4 {
		t.Errorf("the position moved to %+v", kept)
	}
}

const replayBody = `{"partition":"0","from":"2"}`

// eventsOf are events of the hub with the sequence numbers from first to last.
func eventsOf(t *testing.T, first, last int64) []relay.Event {
	var events []relay.Event
	for n := first; n <= last; n++ {
		body := encode(t, engine.Envelope{TransactionID: fmt.Sprint("t-", n), OperationID: fmt.Sprint("o-", n), Operation: "start",
			AcceptedAt: time.Now(), Body: json.RawMessage(deliveryBody)})
		events = append(events, relay.Event{SequenceNumber: n, EnqueuedAt: time.Now(), Body: body})
	}
	return events
}

func entryExchanges(t *testing.T, c *contract) {
	w := newWorld(t)
	w.keep(encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "start", AcceptedAt: time.Now(), Body: json.RawMessage(deliveryBody)}))
	if status := w.relayAll([]byte("\xffrubbish")); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	const list, good = "/operations/quarantine", "/operations/quarantine/transactions/transactions.7"
	kept := w.quarantine.All()[0]
	poison := list + "/" + kept.Source + "/" + kept.ID
	text := []string{"Content-Type", "text/plain"}
	w.pages(c, list+"?source=", 2)
	w.pages(c, list+"?reason=Unreadable&state=Kept", 1)
	c.all(w,
		exchange{"entries", "GET", list, "", nil, 200, false},
		exchange{"entries in an odd state", "GET", list + "?state=Lost", "", nil, 400, false},
		exchange{"entries behind an odd continuation", "GET", list + "?continuation=x", "", nil, 400, true},
		exchange{"poison", "GET", poison, "", nil, 200, false},
		exchange{"entry of nobody", "GET", good + "7", "", nil, 404, true},
		exchange{"entry of an odd id", "GET", list + "/a%20b/c", "", nil, 404, false},
	)
	for _, act := range []string{"redrive", "drop"} {
		c.all(w,
			exchange{act + " of nobody", "POST", good + "7/" + act, actBody, nil, 404, true},
			exchange{act + " without a word", "POST", good + "/" + act, "{}", nil, 400, false},
			exchange{act + " with too much", "POST", good + "/" + act, large, nil, 413, false},
			exchange{act + " in text", "POST", good + "/" + act, actBody, text, 415, false},
		)
	}
	c.all(w,
		exchange{"redrive poison", "POST", poison + "/redrive", actBody, nil, 409, true},
		exchange{"drop poison", "POST", poison + "/drop", actBody, nil, 200, false},
		exchange{"redrive", "POST", good + "/redrive", actBody, nil, 200, false},
		exchange{"drop what was redriven", "POST", good + "/drop", actBody, nil, 409, true},
		exchange{"entry with acts", "GET", good, "", nil, 200, false},
	)
}
