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
// transactions: what payment.Provider calls. It keeps every key for as long as its
// ledger is there. It is safe for concurrent use.
type Provider struct {
	keep  func(entry any) error
	mu    sync.Mutex // also while an entry is kept: a key has one first request
	byKey map[string]Charge
	byID  map[string]string // keys
}

// Charge is what a key stands for. The ledger has one entry each time it changes.
type Charge struct {
	Key string `json:"key"`
	ID  string `json:"id"`
	payment.Ask
	Declined bool `json:"declined,omitempty"`
	// Refunds are the keys of its refunds. Each gives the money back once.
	Refunds []string `json:"refunds,omitempty"`
}

// NewProvider returns a provider that goes on with a ledger, as trial.Service says.
func NewProvider(ledger json.RawMessage, keep func(entry any) error) (*Provider, error) {
	charges, err := Charges(ledger)
	if err != nil {
		return nil, err
	}
	p := &Provider{keep: keep, byKey: map[string]Charge{}, byID: map[string]string{}}
	for _, c := range charges {
		p.put(c)
	}
	return p, nil
}

// Charges returns what a ledger says of all charges, in the order in which they came.
func Charges(ledger json.RawMessage) ([]Charge, error) {
	var entries, charges []Charge
	if err := json.Unmarshal(ledger, &entries); err != nil {
		return nil, fmt.Errorf("read the payment provider's ledger: %w", err)
	}
	at := map[string]int{}
	for _, c := range entries {
		if i, known := at[c.Key]; known {
			charges[i] = c
			continue
		}
		at[c.Key] = len(charges)
		charges = append(charges, c)
	}
	return charges, nil
}

func (p *Provider) put(c Charge) {
	p.byKey[c.Key], p.byID[c.ID] = c, c.Key
}

// change keeps what a charge is now before anybody hears of it.
func (p *Provider) change(c Charge) error {
	if err := p.keep(c); err != nil {
		return err
	}
	p.put(c)
	return nil
}

// ServeHTTP implements http.Handler.
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
	c, known := p.byKey[key]
	if !known {
		c = Charge{Key: key, ID: fmt.Sprintf("ch-%d", len(p.byKey)+1), Ask: ask, Declined: ask.Cents > creditCents}
		if err := p.change(c); err != nil {
			answer(w, http.StatusInternalServerError, map[string]string{"message": err.Error()})
			return
		}
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
	c, known := p.byKey[p.byID[id]]
	if !known || c.Declined {
		answer(w, http.StatusNotFound, map[string]string{"message": "there is no charge " + id})
		return
	}
	if !slices.Contains(c.Refunds, key) {
		c.Refunds = append(slices.Clone(c.Refunds), key)
		if err := p.change(c); err != nil {
			answer(w, http.StatusInternalServerError, map[string]string{"message": err.Error()})
			return
		}
	}
	answer(w, http.StatusCreated, map[string]string{"charge": id})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone can't be told that it is.
	_ = json.NewEncoder(w).Encode(body)
}
