package system_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// noticeSeed makes the key that signs in these tests.
const noticeSeed = "asigningkeyofthirtytwobytes_abcd"

// told is a receiver of notices. It checks what comes by itself, with nothing of
// the app's code.
type told struct {
	t   testing.TB
	url string

	mu     sync.Mutex
	answer int           // the status of the answers
	hang   chan struct{} // while it is not nil, answers wait for its end
	calls  int
	news   map[string][]string // "<number> <state>" by TransactionID, without repeats
}

func newTold(t testing.TB) *told {
	r := &told{t: t, answer: http.StatusNoContent, news: map[string][]string{}}
	server := httptest.NewServer(r)
	r.url = server.URL + "/notices"
	t.Cleanup(server.Close)
	t.Cleanup(r.release)
	return r
}

func (r *told) settings() map[string]string {
	return map[string]string{
		"NOTIFY_URL": r.url, "NOTIFY_SIGNING_KEY": "whsk_" + base64.StdEncoding.EncodeToString([]byte(noticeSeed)),
	}
}

func (r *told) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hang != nil {
		close(r.hang)
		r.hang = nil
	}
}

func (r *told) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the caller is gone
	}
	signed := req.Header.Get("Webhook-Id") + "." + req.Header.Get("Webhook-Timestamp") + "." + string(body)
	encoded, ok := strings.CutPrefix(req.Header.Get("Webhook-Signature"), "v1a,")
	signature, err := base64.StdEncoding.DecodeString(encoded)
	public := ed25519.NewKeyFromSeed([]byte(noticeSeed)).Public().(ed25519.PublicKey)
	if !ok || err != nil || !ed25519.Verify(public, []byte(signed), signature) {
		r.t.Errorf("signature %q does not fit", req.Header.Get("Webhook-Signature"))
	}
	var e struct {
		SpecVersion, ID, Type, Subject string
		Data                           struct{ TransactionID, State string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		r.t.Errorf("event %s: %v", body, err)
	}
	if e.SpecVersion != "1.0" || e.Subject != e.Data.TransactionID || e.Type != "com.fabrikam.dronedelivery.transaction."+strings.ToLower(e.Data.State)+".v1" {
		r.t.Errorf("event %s", body)
	}
	r.mu.Lock()
	r.calls++
	hang, answer := r.hang, r.answer
	r.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-req.Context().Done():
			return // the caller has given up
		}
	}
	if answer == http.StatusNoContent {
		r.mu.Lock()
		line := strings.TrimPrefix(e.ID, e.Subject+"/") + " " + e.Data.State
		if !slices.Contains(r.news[e.Subject], line) {
			r.news[e.Subject] = append(r.news[e.Subject], line)
		}
		r.mu.Unlock()
	}
	w.WriteHeader(answer)
}

func (r *told) set(answer int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *told) called() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// want waits until a transaction's rests were told, and wants no more.
func (r *told) want(id string, want ...string) {
	r.t.Helper()
	get := func() []string {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(r.news[id])
	}
	await(r.t, fmt.Sprintf("the news of %s to be %v", id, want), func() bool { return len(get()) >= len(want) })
	if got := get(); !slices.Equal(got, want) {
		r.t.Errorf("news of %s: %v, want %v", id, got, want)
	}
}

// Ensure each rest of each transaction is told, in its order, also what came to
// pass while the receiver was down; and nothing is left behind.
func TestNoticesEndToEnd(t *testing.T) {
	t.Parallel()
	receiver := newTold(t)
	receiver.set(http.StatusServiceUnavailable)
	r := start(t, short, receiver.settings())
	const n = 20
	for i := range n {
		id := fmt.Sprint("told-", i)
		r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/"+id, request("p-"+id, later()))
	}
	suspended := strings.Replace(request("p-no", time.Now().Add(time.Hour)), `"owner-1"`, `"owner-13"`, 1)
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/told-no", suspended)
	for i := range n {
		r.await(fmt.Sprint("told-", i), "Completed", func(p progress) bool { return p.State == "Completed" })
	}
	r.await("told-no", "Rejected", func(p progress) bool { return p.State == "Rejected" })
	r.want(http.StatusAccepted, http.MethodDelete, "/api/deliveryrequests/told-0", "")
	r.await("told-0", "Cancelled", func(p progress) bool { return p.State == "Cancelled" })
	await(t, "a call that fails", func() bool { return receiver.called() > 0 })

	receiver.set(http.StatusNoContent)
	receiver.want("told-0", "1 Completed", "2 Cancelled")
	receiver.want("told-no", "1 Rejected")
	for i := 1; i < n; i++ {
		receiver.want(fmt.Sprint("told-", i), "1 Completed")
	}
	await(t, "the queue of notices to be empty", func() bool {
		for _, q := range r.Emulators.Broker.Stats().Queues {
			if q.Name == r.AppSettings().NotificationsQueue && q.Active+q.Locked+q.Scheduled+q.DeadLettered == 0 {
				return true
			}
		}
		return false
	})
}

// Ensure a receiver that never answers keeps no transaction from completing, and
// is told when it does.
func TestReceiverThatHangsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	receiver := newTold(t)
	receiver.hang = make(chan struct{})
	r := start(t, short, receiver.settings(), map[string]string{"NOTIFY_CONCURRENCY": "2"})
	const n = 40
	for i := range n {
		id := fmt.Sprint("slow-", i)
		r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/"+id, request("p-"+id, time.Now().Add(time.Hour)))
	}
	for i := range n {
		r.await(fmt.Sprint("slow-", i), "Completed", func(p progress) bool { return p.State == "Completed" })
	}
	await(t, "a call that hangs", func() bool { return receiver.called() > 0 })
	receiver.release()
	for i := range n {
		receiver.want(fmt.Sprint("slow-", i), "1 Completed")
	}
}
