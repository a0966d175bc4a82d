// Package trial is what the proof of orders needs to know of them: sample
// requests, the payment provider that the trial plays, and the rules over what is
// stored here and there.
//
// Reading order: trial.go (the value and the samples), provider.go (the payment
// provider), rules.go (the rules, and their breaks).
package trial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/orders"
	"github.com/fabrikam/drone-delivery/shared/orders/mail"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/shipment"
	"github.com/fabrikam/drone-delivery/shared/orders/stock"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Trial returns the trial of orders.
func Trial() trial.Trial {
	return trial.Trial{
		Kinds: kinds, Change: change, Before: items(), Meanwhile: displayed,
		Settings: func(int) map[string]string { return nil },
		Effects: []trial.Effect{
			{Step: orders.StepStock, Container: "reservations", Ask: trial.Read[stock.Ask]},
			{Step: orders.StepPayment, Container: "payments", Ask: asked},
			{Step: orders.StepShipment, Container: "shipments", Ask: trial.Read[shipment.Ask]},
			{Step: orders.StepMail, Container: "mails", Ask: trial.Read[mail.Ask], World: sent},
		},
		Rules: rules, Breaks: breaks,
		Services: []trial.Service{{Name: ledgerName, Setting: payment.URL, Open: open}},
	}
}

func open(ledger json.RawMessage, keep func(any) error) (http.Handler, error) {
	return NewProvider(ledger, keep)
}

// asked reads what was asked for, from a call's body or from a payment.
func asked(data json.RawMessage) (any, error) {
	var both struct {
		payment.Ask
		Current *struct{ Ask payment.Ask }
	}
	err := json.Unmarshal(data, &both)
	if both.Current != nil {
		return both.Current.Ask, err
	}
	return both.Ask, err
}

// sent is when a mail was sent, which is when it was taken in.
func sent(content json.RawMessage) (time.Time, bool) {
	var m mail.Mail
	if json.Unmarshal(content, &m) != nil {
		return time.Time{}, false
	}
	return m.SentAt, !m.SentAt.IsZero()
}

// What there is of each of the sample items is enough for 10 000 orders.
const sampleItems = 300

// The other items: one that is sold out, and one that nobody's card pays.
const (
	soldOut = "sold-out"
	yacht   = "yacht"
)

func items() []trial.Call {
	calls := []trial.Call{putItem(soldOut, 0, 100), putItem(yacht, stock.MaxTotal, 10*creditCents)}
	for n := range sampleItems {
		calls = append(calls, putItem(fmt.Sprintf("item-%d", n), stock.MaxTotal, 100+n))
	}
	return calls
}

// displayed puts items there that nobody orders, so that their backend writes as
// well while everything breaks.
func displayed(n int) trial.Call { return putItem(fmt.Sprintf("display-%d", n/2), 1+n%2, 100) }

func putItem(id string, total, cents int) trial.Call {
	return trial.Call{Method: http.MethodPut, Path: "items/" + id, Body: map[string]int{"total": total, "priceCents": cents}}
}

var kinds = []trial.Kind{
	{Name: "plain", Text: "reserved, charged, shipped and told", End: workflow.Completed, Draw: draw(nil)},
	{Name: "sold out", Text: "nothing is left of it", Percent: 3, End: workflow.Rejected,
		Draw: draw(func(r *orders.Request) { r.Item = soldOut })},
	{Name: "unknown", Text: "no such item", Percent: 2, End: workflow.Rejected,
		Draw: draw(func(r *orders.Request) { r.Item = "nothing" })},
	{Name: "declined", Text: "more than the card gives: the stock is free again", Percent: 4, End: workflow.Compensated,
		Draw: draw(func(r *orders.Request) { r.Item = yacht })},
	{Name: "not served", Text: "nothing is shipped there: charge and stock undone", Percent: 5, End: workflow.Compensated,
		Draw: draw(func(r *orders.Request) { r.Country = "AQ" })},
	{Name: "malformed", Text: "the fields at fault are named", Percent: 2,
		Draw: draw(func(r *orders.Request) { r.Quantity = 0 })},
}

// draw returns how a kind draws its requests: as all others, and then as with says.
func draw(with func(*orders.Request)) func(trial.Draw) any {
	return func(d trial.Draw) any {
		r := orders.Request{
			Customer: fmt.Sprintf("customer-%d", d.Random.IntN(100)),
			Item:     fmt.Sprintf("item-%d", d.Random.IntN(sampleItems)),
			Quantity: 1 + d.Random.IntN(3),
			Address:  fmt.Sprintf("%d Main Street", 1+d.Random.IntN(200)),
			Country:  []string{"DE", "FR", "US"}[d.Random.IntN(3)],
			Mail:     d.Name + "@example.com",
		}
		if d.Wait > 0 {
			r.MailAt = d.At.Add(d.Wait).UTC().Truncate(time.Second)
		}
		if with != nil {
			with(&r)
		}
		return r
	}
}

// change orders more or less of it.
func change(d trial.Draw, _ json.RawMessage) any {
	return map[string]int{"quantity": 1 + d.Random.IntN(3)}
}
