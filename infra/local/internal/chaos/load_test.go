package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// service is the public API in small. It takes requests as it should, and loses
// a share of its answers.
type service struct {
	mu           sync.Mutex
	random       *rand.Rand
	lost         float64                      // share of the requests that are not answered well
	transactions map[string]map[string]string // by id: operations by key
	packages     map[string][]string          // ids of the transactions, by package
	operations   int

	// What a service must not do.
	otherIDs, takesAll, refuses, forgets bool
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/things"), "/")
	var body drawn
	if r.Method != http.MethodGet && r.Method != http.MethodDelete {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil && r.Method != http.MethodPatch {
			refuse(w, 400, "", err.Error())
			return
		}
	}
	loss := s.random.Float64()
	switch {
	case loss < s.lost/3:
		refuse(w, 503, "", "nothing was accepted")
		return
	case loss < s.lost*2/3:
		panic(http.ErrAbortHandler) // the connection is cut, nothing taken
	case r.Method == http.MethodGet:
		s.get(w, id)
		return
	case s.refuses:
		refuse(w, 404, "", "not here")
		return
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		if body.Owner == "" && !s.takesAll {
			refuse(w, 400, "", "no owner")
			return
		}
		id = s.deliver(id, r.Header.Get("Idempotency-Key"), body.Name)
	case s.transactions[id] == nil:
		refuse(w, 404, "", "unknown")
		return
	}
	operation := s.operation(id, r.Method+r.Header.Get("Idempotency-Key"))
	switch {
	case loss < s.lost*5/6 && r.Method == http.MethodPost:
		refuse(w, 503, id, "it may have been accepted")
	case loss < s.lost:
		panic(http.ErrAbortHandler) // taken, the connection is cut
	default:
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"transactionId":%q,"operationId":%q}`, id, operation)
	}
}

func (s *service) get(w http.ResponseWriter, id string) {
	if s.transactions[id] == nil || s.forgets {
		refuse(w, 404, "", "unknown")
		return
	}
	fmt.Fprintf(w, `{"id":%q,"state":"Completed"}`, id)
}

func (s *service) deliver(id, key, name string) string {
	if id == "" && key != "" {
		id = "key:" + key
	}
	if id == "" {
		id = fmt.Sprintf("minted-%d", len(s.transactions))
	}
	if s.transactions[id] == nil {
		s.transactions[id] = map[string]string{}
		s.packages[name] = append(s.packages[name], id)
	}
	return id
}

func (s *service) operation(id, key string) string {
	if strings.HasPrefix(key, http.MethodPut) || strings.HasPrefix(key, http.MethodPost) {
		key = "deliver"
	}
	operation := s.transactions[id][key]
	if operation == "" || s.otherIDs {
		s.operations++
		operation = fmt.Sprintf("o-%d", s.operations)
		s.transactions[id][key] = operation
	}
	return operation
}

func refuse(w http.ResponseWriter, status int, id, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"title": http.StatusText(status), "detail": detail, "transactionId": id})
}

// shortly is a plan of so many requests within that time, each of a package of its
// own.
func shortly(t *testing.T, requests int, within time.Duration) []sending {
	t.Helper()
	unrivalled := samples
	unrivalled.Rivals = nil
	return planOf(t, mixture{trial: unrivalled, seed: 5, name: "5", requests: requests, until: within, start: start})
}

// loaded sends a plan of requests to the service, by clients of that patience.
func loaded(t *testing.T, s *service, requests int, patience time.Duration) (*load, []invariant.LedgerEntry) {
	t.Helper()
	s.random = rand.New(rand.NewPCG(1, 2))
	s.transactions, s.packages = map[string]map[string]string{}, map[string][]string{}
	server := httptest.NewServer(s)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	book, err := createLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	counts := newTally()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 32, Seen: counts.exchange})
	defer client.Close()
	l := &load{client: client, ledger: book, tally: counts}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	patient, lose := context.WithTimeout(ctx, patience)
	defer lose()
	if err := l.run(ctx, patient, shortly(t, requests, 200*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := book.close(); err != nil {
		t.Fatal(err)
	}
	entries, torn, err := readLedger(path)
	if err != nil || torn {
		t.Fatalf("torn %v, %v", torn, err)
	}
	return l, entries
}

// Ensure that a service that loses a third of its answers gets each request
// once, and that the ledger holds what was accepted, and nothing else.
func TestLoadOnAServiceThatLosesAnswers(t *testing.T) {
	t.Parallel()
	s := &service{lost: 0.3}
	const requests = 150
	l, entries := loaded(t, s, requests, 3*time.Second)
	if len(l.findings) > 0 {
		t.Errorf("findings %v", l.findings)
	}
	noted := map[string]bool{}
	for _, e := range entries {
		noted[e.TransactionID] = true
		taken := false
		for _, operation := range s.transactions[e.TransactionID] {
			taken = taken || operation == e.OperationID
		}
		if !taken {
			t.Errorf("the ledger has operation %s of %s, which the service never took", e.OperationID, e.TransactionID)
		}
		if e.Kind != workflow.OperationCancel && len(e.Body) == 0 || e.AcceptedAt.IsZero() {
			t.Errorf("incomplete entry %+v", e)
		}
	}
	unknown := map[string]bool{}
	for _, o := range l.outcomes {
		unknown[o.Name] = o.end == wasUnanswered
	}
	for name, ids := range s.packages {
		if len(ids) != 1 {
			t.Errorf("package %s was taken as %v", name, ids)
		}
		if !noted[ids[0]] && !unknown[name] {
			t.Errorf("package %s was taken, and its client does not know that it can't know", name)
		}
	}
	c := l.tally.clients()
	if c.Unanswered == 0 || c.Answers["503"] == 0 || c.Answers["none"] == 0 {
		t.Errorf("nothing was lost: %+v", c)
	}
	if c.Accepted != len(entries) || c.Sent != c.Accepted+c.Refused+c.Unanswered || c.GivenUp != 0 || c.Answers["202"] != c.Accepted || c.RequestP99 < c.ExchangeP50 {
		t.Errorf("%d entries, counts %+v", len(entries), c)
	}
	if c.Sent < requests*5/4 || len(l.outcomes) < requests {
		t.Errorf("%d requests for %d requests", c.Sent, requests)
	}
}

// Ensure that clients notice what no client should see.
func TestLoadFindsFault(t *testing.T) {
	for name, c := range map[string]struct {
		service *service
		want    string
	}{
		"other ids for a repeat":  {&service{otherIDs: true}, "the same start was accepted as"},
		"takes what is malformed": {&service{takesAll: true}, "it is malformed, and was accepted"},
		"refuses":                 {&service{refuses: true}, "its start was refused: POST"},
		"forgets":                 {&service{forgets: true}, "its progress is answered with"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := loaded(t, c.service, 80, time.Second)
			for _, f := range l.findings {
				if strings.Contains(f.What, c.want) && f.ID != "" {
					return
				}
			}
			t.Errorf("findings %v, want one with %q", l.findings, c.want)
		})
	}
}

// Ensure that a client that leaves in the middle of its request never learns what
// became of it, and that nobody is blamed for that.
func TestLoadLeaves(t *testing.T) {
	taken := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it told of the client's end
		close(taken)
		<-r.Context().Done()
	}))
	defer server.Close()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 1})
	defer client.Close()
	l := &load{client: client, tally: newTally()}
	s := sending{Item: workload.Item{Name: "gone", Kind: workload.Usual(samples), Body: json.RawMessage("{}")}, Leaves: 200 * time.Millisecond}
	receipt, end, err := l.request(t.Context(), l.delivering(s))
	if err != nil || end != wasUnanswered || receipt.TransactionID != "" || len(l.findings) > 0 {
		t.Errorf("%v %v %v, findings %v", receipt, end, err, l.findings)
	}
	<-taken
}

// Ensure that the clients stop when their time is up, and that what has no
// answer then counts as given up.
func TestLoadGivesUp(t *testing.T) {
	s := &service{lost: 3, random: rand.New(rand.NewPCG(1, 2))} // 503, always
	server := httptest.NewServer(s)
	defer server.Close()
	book, err := createLedger(filepath.Join(t.TempDir(), "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer book.close()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 32})
	defer client.Close()
	l := &load{client: client, ledger: book, tally: newTally()}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := l.run(ctx, ctx, shortly(t, MinRequests, 50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	left := 0 // clients that did not wait for the end
	for _, o := range l.outcomes {
		if o.end == wasUnanswered && o.Leaves > 0 {
			left++
		}
	}
	if c := l.tally.clients(); c.Accepted != 0 || c.GivenUp == 0 || c.GivenUp+left != c.Sent || len(l.findings) > 0 {
		t.Errorf("%+v, findings %v", c, l.findings)
	}
}

// Ensure that a ledger that can't be written ends everything.
func TestLoadWithoutALedger(t *testing.T) {
	book, err := createLedger(filepath.Join(t.TempDir(), "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := book.close(); err != nil {
		t.Fatal(err)
	}
	s := &service{random: rand.New(rand.NewPCG(1, 2)), transactions: map[string]map[string]string{}, packages: map[string][]string{}}
	server := httptest.NewServer(s)
	defer server.Close()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 4})
	defer client.Close()
	l := &load{client: client, ledger: book, tally: newTally()}
	if err := l.run(t.Context(), t.Context(), shortly(t, MinRequests, time.Millisecond)); err == nil || !strings.Contains(err.Error(), "ledger") {
		t.Errorf("error %v, want that of the ledger", err)
	}
}
