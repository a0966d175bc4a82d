package trial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/orders/payment"
)

// creditCents is the most that the provider charges at once.
const creditCents = 1_000_000

// ledgerName is the provider's in trial.Stored.
const ledgerName = "payments"

// Provider is a payment provider that knows idempotency keys, and nothing of
// transactions: what payment.Provider calls. It keeps every key for as long as it
// runs. It is safe for concurrent use.
type Provider struct {
	mu      sync.Mutex
	charges []*Charge
	byKey   map[string]*Charge
	byID    map[string]*Charge
}

// Charge is what a key stands for.
type Charge struct {
	Key string `json:"key"`
	ID  string `json:"id"`
	payment.Ask
	Declined bool `json:"declined,omitempty"`
	// Refunds are the keys of its refunds. Each gives the money back once.
	Refunds []string `json:"refunds,omitempty"`
}

// ServeHTTP implements trial.Foreign.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	id, isRefund := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/charges/"), "/refunds")
	switch {
	case r.Method != http.MethodPost || key == "":
		answer(w, http.StatusBadRequest, map[string]string{"message": "a POST with an Idempotency-Key is wanted"})
	case isRefund:
		p.refund(w, id, key)
	case r.URL.Path == "/charges":
		p.charge(w, r, key)
	default:
		answer(w, http.StatusNotFound, map[string]string{"message": "there is nothing here"})
	}
}

func (p *Provider) charge(w http.ResponseWriter, r *http.Request, key string) {
	var ask payment.Ask
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(&ask); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byKey[key]
	if c == nil {
		c = &Charge{Key: key, ID: fmt.Sprintf("ch-%d", len(p.charges)+1), Ask: ask, Declined: ask.Cents > creditCents}
		if p.byKey == nil {
			p.byKey, p.byID = map[string]*Charge{}, map[string]*Charge{}
		}
		p.byKey[key], p.byID[c.ID] = c, c
		p.charges = append(p.charges, c)
	}
	switch {
	case c.Ask != ask:
		answer(w, http.StatusUnprocessableEntity, map[string]string{"message": "the key stands for another charge"})
	case c.Declined:
		answer(w, http.StatusPaymentRequired, map[string]string{"message": fmt.Sprintf("%d is more than the card gives", ask.Cents)})
	default:
		answer(w, http.StatusCreated, payment.Charge{ID: c.ID})
	}
}

func (p *Provider) refund(w http.ResponseWriter, id, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byID[id]
	if c == nil || c.Declined {
		answer(w, http.StatusNotFound, map[string]string{"message": "there is no charge " + id})
		return
	}
	if !slices.Contains(c.Refunds, key) {
		c.Refunds = append(c.Refunds, key)
	}
	answer(w, http.StatusCreated, map[string]string{"charge": id})
}

// Ledger implements trial.Foreign: all charges, in the order in which they came.
func (p *Provider) Ledger() (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return json.Marshal(p.charges)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone can't be told that it is.
	_ = json.NewEncoder(w).Encode(body)
}
