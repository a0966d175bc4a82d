package trial

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/orders"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// shop is the backends of orders in memory, in front of a provider.
type shop struct {
	t         *testing.T
	router    *mux.Router
	documents map[string]*recordtest.Documents
	ledger    []any // the provider's
	stored    trial.Stored
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, router: mux.NewRouter(), documents: map[string]*recordtest.Documents{}}
	provider, err := NewProvider(json.RawMessage("[]"), func(entry any) error {
		s.ledger = append(s.ledger, entry)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	env := business.Env{
		Documents: func(container string) business.Documents {
			if s.documents[container] == nil {
				s.documents[container] = &recordtest.Documents{}
			}
			return s.documents[container]
		},
		Settings: business.Values{payment.URL: server.URL, payment.KeyLife: 60 * 24 * time.Hour, "SHIPMENT_COUNTRIES": "DE,FR,US"},
		Now:      time.Now, Keep: 30 * 24 * time.Hour, CompleteBy: 24 * time.Hour, CallTimeout: time.Minute,
	}
	for _, b := range orders.Business().Backends {
		all, err := b.Open(env)
		if err != nil {
			t.Fatal(err)
		}
		recordtest.Mount(s.router, slog.New(slog.DiscardHandler), slices.Concat(all...))
	}
	for _, c := range Trial().Before {
		body, err := json.Marshal(c.Body)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := s.call("", c.Method, c.Path, body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.Path, status, answer)
		}
	}
	return s
}

func (s *shop) call(id, method, path string, body []byte) (int, json.RawMessage) {
	req := httptest.NewRequest(method, "/"+path, strings.NewReader(string(body)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(record.HeaderTransaction, id)
	res := httptest.NewRecorder()
	s.router.ServeHTTP(res, req)
	return res.Code, res.Body.Bytes()
}

// order takes an order through its steps, and undoes them where one is refused.
func (s *shop) order(id string, request []byte) workflow.State {
	s.t.Helper()
	parsed, err := orders.Business().Parse(request, nil, time.Now())
	if err != nil {
		return ""
	}
	in := workflow.Input{TransactionID: id, Revision: 1, Request: parsed.Canonical, Results: map[string]json.RawMessage{}}
	state := workflow.Completed
	for i, step := range orders.Business().Workflow.Steps {
		call := step.Call(in)
		status, answer := s.call(id, call.Method, call.Path, call.Body)
		if status >= 300 {
			state = workflow.Rejected
			for _, done := range slices.Backward(orders.Business().Workflow.Steps[:i]) {
				state = workflow.Compensated
				undo := done.Undo(in)
				if status, answer := s.call(id, undo.Method, undo.Path, nil); status != http.StatusNoContent {
					s.t.Fatalf("undo %s: %d %s", done.Name, status, answer)
				}
			}
			break
		}
		in.Results[step.Name] = answer
	}
	s.stored.Transactions = append(s.stored.Transactions, workflow.Progress{ID: id, State: state, Request: parsed.Canonical})
	return state
}

// at returns what is stored now.
func (s *shop) at() *trial.Stored {
	s.t.Helper()
	out := trial.Stored{
		Now: time.Now(), Transactions: s.stored.Transactions,
		Records: map[string][]record.Record[json.RawMessage]{}, Others: map[string][]json.RawMessage{}, Ledgers: map[string]json.RawMessage{},
	}
	for container, documents := range s.documents {
		all, err := documents.Memory.All()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, doc := range trial.Sorted(all) {
			if container == "items" {
				out.Others[container] = append(out.Others[container], doc)
				continue
			}
			var r record.Record[json.RawMessage]
			if err := json.Unmarshal(doc, &r); err != nil {
				s.t.Fatal(err)
			}
			out.Records[container] = append(out.Records[container], r)
		}
	}
	var err error
	if out.Ledgers[ledgerName], err = json.Marshal(s.ledger); err != nil {
		s.t.Fatal(err)
	}
	return &out
}

// found returns what the rules find, as "rule: what id".
func found(t *testing.T, s *trial.Stored) (violations []string) {
	t.Helper()
	all, err := rules(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		var f trial.Findings
		if r.Check(&f); f.Checked == 0 {
			t.Errorf("%s looks at nothing", r.Name)
		}
		for _, v := range f.Violations {
			violations = append(violations, fmt.Sprintf("%s: %s %s", r.Name, v.What, v.ID))
		}
	}
	return violations
}

// sampled is a shop with some orders of every kind, each of which must end as its
// kind says.
func sampled(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 5 {
		for _, k := range kinds {
			id := fmt.Sprintf("%s-%d", strings.ReplaceAll(k.Name, " ", "-"), n)
			body, err := json.Marshal(k.Draw(trial.Draw{Random: random, Name: id, At: time.Now()}))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.order(id, body); got != k.End {
				t.Errorf("%s ends %s, want %s", id, got, k.End)
			}
		}
	}
	return s
}

func TestSamplesKeepTheRules(t *testing.T) {
	if broken := found(t, sampled(t).at()); len(broken) > 0 {
		t.Errorf("found %v", broken)
	}
}

// Ensure each break is found by its rule, for what it has broken.
func TestBreaksAreFound(t *testing.T) {
	s := sampled(t)
	broken := map[string]bool{}
	for _, b := range breaks {
		t.Run(b.Rule+", "+b.What, func(t *testing.T) {
			stored := s.at()
			id := b.Do(stored)
			if want := b.Rule + ": " + b.What + " " + id; id == "" || !slices.Contains(found(t, stored), want) {
				t.Errorf("%q is not found: %v", want, found(t, stored))
			}
		})
		broken[b.Rule] = true
	}
	all, err := rules(s.at())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if !broken[r.Name] {
			t.Errorf("nothing breaks %s", r.Name)
		}
	}
}

// Ensure what was asked for is read alike from a call and from what is stored.
func TestEffectsTellWhatWasAsked(t *testing.T) {
	s := sampled(t).at()
	for _, e := range Trial().Effects {
		live := 0
		for _, r := range s.Records[e.Container] {
			if !r.Live() {
				continue
			}
			live++
			ask, err := e.Ask(r.Content)
			if err != nil {
				t.Fatal(err)
			}
			if hash, err := record.Hash(ask); err != nil || hash != r.Hash {
				t.Errorf("%s %s: %+v has another hash", e.Container, r.ID, ask)
			}
		}
		if live != 5 {
			t.Errorf("%d of %s are live", live, e.Container)
		}
	}
}

// Ensure an order that is left to an operator may keep what it says itself is not
// undone, and nothing else: neither what it says is undone, nor a charge that its
// payment's record does not have.
func TestWhatAStuckOrderKeeps(t *testing.T) {
	const id = "plain-0"
	refused := workflow.StepProgress{State: workflow.StepSucceeded, Effect: workflow.EffectYes}
	unsure := workflow.StepProgress{State: workflow.StepStarted, Effect: workflow.EffectMaybe}
	undone := workflow.StepProgress{State: workflow.StepUndone, Effect: workflow.EffectYes}
	never := workflow.StepProgress{State: workflow.StepPending, Effect: workflow.EffectNo}
	// The payment's answer was lost: its record has no more than the intent, or not even that.
	unanswered := func(s *trial.Stored, intent bool) {
		for i := range s.Records["payments"] {
			r := &s.Records["payments"][i]
			var content payment.Content
			if r.ID != id || json.Unmarshal(r.Content, &content) != nil {
				continue
			}
			var left payment.Content
			if content.Current.Given = nil; intent {
				left.Open = append(left.Open, content.Current)
			}
			r.TransactionID = ""
			r.Content, _ = json.Marshal(left) // it was read from JSON
		}
	}
	// The reservation's answer was lost: the item has the hold alone.
	unreserved := func(s *trial.Stored) {
		s.Records["reservations"] = slices.DeleteFunc(s.Records["reservations"], func(r record.Record[json.RawMessage]) bool { return r.ID == id })
	}
	for name, c := range map[string]struct {
		stock, payment workflow.StepProgress
		change         func(*trial.Stored)
		want           []string
	}{
		"its undo is refused":           {refused, refused, nil, nil},
		"money that counts as undone":   {refused, undone, nil, []string{"money: charged for nothing " + id}},
		"money of a step never taken":   {refused, never, nil, []string{"money: charged for nothing " + id}},
		"stock that counts as undone":   {undone, refused, nil, []string{"stock: kept for nobody " + id}},
		"an intent is left":             {refused, unsure, func(s *trial.Stored) { unanswered(s, true) }, nil},
		"no intent is left":             {refused, unsure, func(s *trial.Stored) { unanswered(s, false) }, []string{"money: charged for nothing " + id}},
		"an intent that counts as none": {refused, never, func(s *trial.Stored) { unanswered(s, true) }, []string{"money: charged for nothing " + id}},
		"a hold is left":                {unsure, refused, unreserved, nil},
		"a hold that counts as undone":  {undone, refused, unreserved, []string{"stock: kept for nobody " + id}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampled(t).at()
			c.stock.Name, c.payment.Name = orders.StepStock, orders.StepPayment
			for i := range s.Transactions {
				if p := &s.Transactions[i]; p.ID == id {
					p.State, p.Steps = workflow.Stuck, []workflow.StepProgress{c.stock, c.payment}
				}
			}
			if c.change != nil {
				c.change(s)
			}
			if got := found(t, s); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
