package payment_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/trial"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// world is the backend in front of a provider of the trial, which answers late
// where late says so: it does what is asked and says nothing until the caller has
// gone.
type world struct {
	provider  *trial.Provider
	ledger    []any
	late      atomic.Bool
	endpoints []business.Endpoint
}

func newWorld(t *testing.T, settings business.Values) (*world, error) {
	w := &world{}
	var err error
	if w.provider, err = trial.NewProvider(json.RawMessage("[]"), w.keep); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.late.Load() {
			w.provider.ServeHTTP(rw, r)
			return
		}
		w.provider.ServeHTTP(httptest.NewRecorder(), r)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	settings[payment.URL] = server.URL
	memory := &recordtest.Documents{}
	all, err := payment.Backend("payment").Open(business.Env{
		Documents: func(string) business.Documents { return memory }, Settings: settings, Now: time.Now,
		Keep: 30 * 24 * time.Hour, CompleteBy: 24 * time.Hour, CallTimeout: 400 * time.Millisecond,
	})
	if err == nil {
		w.endpoints = all[0]
	}
	return w, err
}

func (w *world) keep(entry any) error {
	w.ledger = append(w.ledger, entry)
	return nil
}

func (w *world) charges(t *testing.T) []trial.Charge {
	t.Helper()
	ledger, err := json.Marshal(w.ledger)
	if err != nil {
		t.Fatal(err)
	}
	charges, err := trial.Charges(ledger)
	if err != nil {
		t.Fatal(err)
	}
	return charges
}

const (
	path   = "/payments/t"
	small  = `{"customer":"ann","cents":500}`
	larger = `{"customer":"ann","cents":900}`
	lots   = `{"customer":"ann","cents":9000000}`
)

func TestContract(t *testing.T) {
	w, err := newWorld(t, business.Values{payment.KeyLife: 60 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	recordtest.Contract(t, w.endpoints, []recordtest.Call{
		{Name: "declined", Method: "PUT", Path: path, Transaction: "t", Body: lots, Status: 422, Answer: "declined"},
		{Name: "nothing there", Method: "GET", Path: path, Status: 404},
		{Name: "charge", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: small, Status: 201, Answer: `{"id":"t","cents":500,"charge":"ch-2"}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: small, Status: 200, Answer: `{"charge":"ch-2"}`, Unchanged: true},
		{Name: "change", Method: "PUT", Path: path, Transaction: "t", Revision: "3", Body: larger, Status: 200, Answer: `{"cents":900,"charge":"ch-3"}`},
		{Name: "change declined", Method: "PUT", Path: path, Transaction: "t", Revision: "4", Body: lots, Status: 422, Answer: "declined"},
		{Name: "as before", Method: "GET", Path: path, Status: 200, Answer: `{"cents":900,"charge":"ch-3"}`},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204, Unchanged: true},
		{Name: "late", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: small, Status: 410, Answer: "gone"},
		{Name: "another id", Method: "PUT", Path: path, Transaction: "u", Body: small, Status: 400, Answer: "invalid"},
	})
	for i, c := range w.charges(t) {
		if want := i%3 != 0; c.Declined == want || (len(c.Refunds) == 1) != want {
			t.Errorf("charge %d: %+v", i, c)
		}
	}
}

// Ensure that a charge whose answer never comes in time is one charge in the end,
// or none after an undo.
func TestLateAnswers(t *testing.T) {
	w, err := newWorld(t, business.Values{payment.KeyLife: 60 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.late.Store(true)
	recordtest.Contract(t, w.endpoints, []recordtest.Call{
		{Name: "late", Method: "PUT", Path: path, Transaction: "t", Body: small, Status: 503, RetryAfter: "2"},
		{Name: "late again", Method: "PUT", Path: path, Transaction: "t", Body: small, Status: 503, RetryAfter: "2"},
		{Name: "another", Method: "PUT", Path: "/payments/u", Transaction: "u", Body: small, Status: 503, RetryAfter: "2"},
		{Name: "undo, late", Method: "DELETE", Path: "/payments/u", Transaction: "u", Status: 503, RetryAfter: "2"},
	})
	w.late.Store(false)
	recordtest.Contract(t, w.endpoints, []recordtest.Call{
		{Name: "in time", Method: "PUT", Path: path, Transaction: "t", Body: small, Status: 201, Answer: `{"charge":"ch-1"}`},
		{Name: "undo", Method: "DELETE", Path: "/payments/u", Transaction: "u", Status: 204},
	})
	charges := w.charges(t)
	if len(charges) != 2 || len(charges[0].Refunds) != 0 || len(charges[1].Refunds) != 1 {
		t.Errorf("charges %+v", charges)
	}
}

// Ensure the provider's promise about its keys is held against the time for which
// a charge may be undone.
func TestKeysMustLiveLongEnough(t *testing.T) {
	for days, ok := range map[int]bool{30: false, 31: true} {
		_, err := newWorld(t, business.Values{payment.KeyLife: time.Duration(days) * 24 * time.Hour})
		if (err == nil) != ok {
			t.Errorf("%d days: %v", days, err)
		}
	}
}
