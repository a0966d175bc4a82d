package trial

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/orders/payment"
)

var errDisk = errors.New("no space left")

// ledger is one in memory. What comes when it is full is not kept.
type ledger struct {
	entries []any
	full    bool
}

func (l *ledger) keep(entry any) error {
	if l.full {
		return errDisk
	}
	l.entries = append(l.entries, entry)
	return nil
}

// open returns a provider that goes on with the ledger, and with what it kept.
func (l *ledger) open(t *testing.T) (*Provider, []Charge) {
	t.Helper()
	entries, err := json.Marshal(append([]any{}, l.entries...))
	if err != nil {
		t.Fatal(err)
	}
	charges, err := Charges(entries)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProvider(entries, l.keep)
	if err != nil {
		t.Fatal(err)
	}
	return p, charges
}

func post(p http.Handler, path, key, body string) (int, string) {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Idempotency-Key", key)
	res := httptest.NewRecorder()
	p.ServeHTTP(res, req)
	return res.Code, strings.TrimSpace(res.Body.String())
}

const (
	small = `{"customer":"ann","cents":500}`
	lots  = `{"customer":"ann","cents":9000000}`
)

// Ensure that a provider which was killed gives each key the answer of before, and
// refunds nothing twice.
func TestTheProviderGoesOnWithItsLedger(t *testing.T) {
	l := &ledger{}
	calls := []struct {
		path, key, body string
		status          int
		answer          string
	}{
		{"/charges", "t/1", small, 201, `{"id":"ch-1"}`},
		{"/charges", "u/1", lots, 402, `{"message":"9000000 is more than the card gives"}`},
		{"/charges", "t/1", lots, 422, `{"message":"the key stands for another charge"}`},
		{"/charges/ch-1/refunds", "t/1/refund", `{}`, 201, `{"charge":"ch-1"}`},
		{"/charges/ch-2/refunds", "u/1/refund", `{}`, 404, `{"message":"there is no charge ch-2"}`},
	}
	for range 2 {
		for _, c := range calls {
			p, _ := l.open(t) // each time another process
			if status, answer := post(p, c.path, c.key, c.body); status != c.status || answer != c.answer {
				t.Errorf("%s %s: %d %s, want %d %s", c.path, c.key, status, answer, c.status, c.answer)
			}
		}
	}
	_, charges := l.open(t)
	want := []Charge{
		{Key: "t/1", ID: "ch-1", Ask: payment.Ask{Customer: "ann", Cents: 500}, Refunds: []string{"t/1/refund"}},
		{Key: "u/1", ID: "ch-2", Ask: payment.Ask{Customer: "ann", Cents: 9_000_000}, Declined: true},
	}
	if diff := cmp.Diff(want, charges); diff != "" || len(l.entries) != 3 {
		t.Errorf("%d entries\n%s", len(l.entries), diff)
	}
}

// Ensure that nothing is answered as done that is not in the ledger.
func TestTheProviderSaysNothingThatItCannotKeep(t *testing.T) {
	l := &ledger{full: true}
	p, _ := l.open(t)
	if status, _ := post(p, "/charges", "t/1", small); status != 500 {
		t.Errorf("charge: %d", status)
	}
	l.full = false
	if status, answer := post(p, "/charges", "t/1", small); status != 201 || answer != `{"id":"ch-1"}` {
		t.Errorf("charge: %d %s", status, answer)
	}
	l.full = true
	for range 2 {
		if status, _ := post(p, "/charges/ch-1/refunds", "r", `{}`); status != 500 {
			t.Errorf("refund: %d", status)
		}
	}
	if _, charges := l.open(t); len(charges) != 1 || len(charges[0].Refunds) != 0 {
		t.Errorf("charges %+v", charges)
	}
	if _, err := NewProvider(json.RawMessage("{"), l.keep); err == nil {
		t.Error("half a ledger is taken")
	}
}
