// Package payment is the backend that charges customers. The money is a payment
// provider's business, which isn't ours: this is the façade in front of it.
//
// Reading order: payment.go (the contract), provider.go (the calls to the
// provider). The rest is package facade's.
package payment

import (
	"fmt"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/facade"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// The settings: where the provider is, and how long it keeps an idempotency key.
const (
	URL     = "PAYMENT_PROVIDER_URL"
	KeyLife = "PAYMENT_KEY_DAYS"
)

// Settings returns the backend's settings.
func Settings() []business.Setting {
	return []business.Setting{
		{Name: URL, Kind: business.URL, Default: "http://127.0.0.1:7099", Text: "where the payment provider is"},
		{Name: KeyLife, Kind: business.Span, Unit: 24 * time.Hour, Default: "60", Min: 1, Max: 3650,
			Text: "how long the payment provider keeps an idempotency key, in days; longer than a charge may be undone"},
	}
}

// Backend returns the backend, by the name of its step.
func Backend(name string) business.Backend {
	return business.Backend{
		Name:       name,
		Functions:  []business.Function{{Name: "Payments", Route: "payments/{id}"}},
		Containers: []business.Container{record.Container("payments")},
		Open:       open,
	}
}

// open leaves the provider less time than a call of the workflow has, so that the
// workflow hears that there was no answer.
func open(env business.Env) ([][]business.Endpoint, error) {
	keyLife, needed := env.Settings.Span(KeyLife), env.CompleteBy+env.Keep
	if keyLife < needed {
		return nil, fmt.Errorf("%s is %v: an undo may ask for a charge up to %v after it was made", KeyLife, keyLife, needed)
	}
	return [][]business.Endpoint{endpoints(&facade.Facade[Ask, Charge]{
		Store:   record.Over[Record](env.Documents("payments")),
		Service: NewProvider(env.Settings.Text(URL), env.CallTimeout*3/4),
		Now:     env.Now, Retention: env.Keep, Needed: env.CompleteBy, KeyLife: keyLife,
	})}, nil
}

// Ask is what a transaction asks for.
type Ask struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// Charge is what the provider gives for it.
type Charge struct {
	ID string `json:"id"`
}

// Content is what is kept of a payment, in a Record.
type (
	Content = facade.Content[Ask, Charge]
	Record  = facade.Record[Ask, Charge]
)

// View is a payment as the contract shows it.
type View struct {
	ID string `json:"id"`
	Ask
	Charge string `json:"charge"` // the provider's id
}

func show(rec Record) View {
	v := View{ID: rec.ID, Ask: rec.Content.Current.Ask}
	if given := rec.Content.Current.Given; given != nil {
		v.Charge = given.ID
	}
	return v
}

// endpoints is the contract: GET 200 or 404; PUT 201, 200 for a change or a repeat,
// 422 declined, 409 key-expired, 409 or 410 by the rules of package record; DELETE
// 204, or 409 key-expired.
func endpoints(f *facade.Facade[Ask, Charge]) []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "payments/{id}", Handle: record.AnswerGet(f.Get, show)},
		{Method: http.MethodPut, Path: "payments/{id}", Handle: record.AnswerPut(http.StatusOK, body.ask, f.Put, show)},
		{Method: http.MethodDelete, Path: "payments/{id}", Handle: record.AnswerDelete(f.Delete)},
	}
}

type body struct {
	Customer *string  `json:"customer"`
	Cents    *float64 `json:"cents"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{Customer: faults.ID("/customer", b.Customer), Cents: int(faults.Number("/cents", b.Cents, 0, 1e12))}
	return ask, faults.Err()
}
