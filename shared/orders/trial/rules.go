package trial

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/facade"
	"github.com/fabrikam/drone-delivery/shared/orders"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/stock"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// world is what the rules look at.
type world struct {
	orders       map[string]*workflow.Progress
	items        []stock.Item
	reservations map[string]*record.Record[stock.Reservation]
	payments     map[string]*payment.Record
	charges      []Charge
}

func rules(s *trial.Stored) ([]trial.Rule, error) {
	w := &world{orders: map[string]*workflow.Progress{}}
	for i := range s.Transactions {
		w.orders[s.Transactions[i].ID] = &s.Transactions[i]
	}
	var err error
	if w.items, err = trial.Others[stock.Item](s, "items"); err != nil {
		return nil, err
	}
	if w.reservations, err = trial.Records[stock.Reservation](s, "reservations"); err != nil {
		return nil, err
	}
	if w.payments, err = trial.Records[payment.Content](s, "payments"); err != nil {
		return nil, err
	}
	if w.charges, err = Charges(s.Ledgers[ledgerName]); err != nil {
		return nil, err
	}
	return []trial.Rule{
		{Name: "stock", Promise: "no item is promised more often than it is there, and none is kept for nobody", Check: w.checkStock},
		{Name: "money", Promise: "a completed order is charged once, with its price; every other has its money back", Check: w.checkMoney},
	}, nil
}

// mayStand reports whether something of a step may be there for an order: it was
// completed, or it is left to an operator, who reads in it that this step is not
// undone. Of one that is still open, others tell.
func (w *world) mayStand(id, step string) bool {
	p := w.orders[id]
	switch {
	case p == nil:
		return false
	case p.State == workflow.Stuck || p.State == workflow.GivenUp:
		s := p.Step(step)
		return s != nil && s.State != workflow.StepUndone && s.Effect != workflow.EffectNo
	}
	return p.State == workflow.Completed || !p.Rests()
}

// half reports whether that may be half of what the step does: what its backend was
// about when nobody came again.
func (w *world) half(id, step string) bool {
	return w.mayStand(id, step) && w.orders[id].State != workflow.Completed
}

// checkStock compares items and reservations, both ways round.
func (w *world) checkStock(f *trial.Findings) {
	held := map[string]int{}
	for _, item := range w.items {
		f.Checked++
		sum := 0
		for _, h := range item.Holds {
			sum += h.Quantity
			held[h.TransactionID] += h.Quantity
			r := w.reservations[h.TransactionID]
			switch reserved := r != nil && r.Live() && r.Content.Item == item.ID; {
			case !w.mayStand(h.TransactionID, orders.StepStock):
				f.Broken(h.TransactionID, "kept for nobody", "%d of %s are kept for it, which is no order that has any", h.Quantity, item.ID)
			case !reserved && !w.half(h.TransactionID, orders.StepStock):
				f.Broken(h.TransactionID, "kept for nobody", "%d of %s are kept for it, and it has no reservation of that", h.Quantity, item.ID)
			}
		}
		if sum > item.Total {
			f.Broken(item.ID, "promised too often", "%d are promised, and there are %d", sum, item.Total)
		}
	}
	for id, r := range trial.Sorted(w.reservations) {
		if r.Live() && held[id] != r.Content.Quantity && !(held[id] > 0 && w.half(id, orders.StepStock)) {
			f.Broken(id, "not kept", "it has reserved %d of %s, and %d are kept for it", r.Content.Quantity, r.Content.Item, held[id])
		}
	}
}

// checkMoney compares the provider's ledger with the payments and the orders, both
// ways round. What is charged stands until its first refund.
func (w *world) checkMoney(f *trial.Findings) {
	standing := map[string][]Charge{}
	for _, c := range w.charges {
		f.Checked++
		id := transactionOf(&c)
		if len(c.Refunds) > 1 {
			f.Broken(id, "refunded twice", "charge %s has the refunds %v", c.ID, c.Refunds)
		}
		if !c.Declined && len(c.Refunds) == 0 && !w.open(&c) {
			standing[id] = append(standing[id], c)
		}
	}
	for id, charges := range trial.Sorted(standing) {
		if p := w.payments[id]; p == nil || !p.Live() || !w.mayStand(id, orders.StepPayment) {
			f.Broken(id, "charged for nothing", "charge %s of %d stands, and there is no payment of an order that has one", charges[0].ID, charges[0].Cents)
		}
	}
	for id, p := range trial.Sorted(w.payments) {
		if !p.Live() {
			continue
		}
		current := p.Content.Current
		switch charges := standing[id]; {
		case len(charges) > 1:
			f.Broken(id, "charged twice", "%d charges stand: %+v", len(charges), charges)
		case len(charges) == 0 || current.Given == nil || charges[0].ID != current.Given.ID || charges[0].Ask != current.Ask:
			f.Broken(id, "not charged", "its payment says %+v, and the provider has %+v", current, charges)
		}
	}
	for id, p := range trial.Sorted(w.orders) {
		if p.State == workflow.Completed && p.Reason == "" { // else some of it was left as it was before a change
			w.checkPrice(id, p, f)
		}
	}
}

// open reports whether a charge waits for its undo where it can be found: its order
// is left to an operator, and the payment's record has the post that made it.
func (w *world) open(c *Charge) bool {
	id := transactionOf(c)
	p := w.payments[id]
	return p != nil && w.half(id, orders.StepPayment) && slices.ContainsFunc(p.Content.Open, func(o facade.Post[payment.Ask, payment.Charge]) bool {
		return fmt.Sprintf("%s/%d", id, o.Revision) == c.Key
	})
}

// checkPrice wants a completed order to have paid what it has.
func (w *world) checkPrice(id string, p *workflow.Progress, f *trial.Findings) {
	var request orders.Request
	if err := json.Unmarshal(p.Request, &request); err != nil {
		f.Broken(id, "price", "the order can't be read: %v", err)
		return
	}
	r, paid := w.reservations[id], w.payments[id]
	if r == nil || paid == nil {
		f.Broken(id, "price", "it is completed without a reservation or a payment")
		return
	}
	if want := r.Content.PriceCents * request.Quantity; paid.Content.Current.Ask.Cents != want || paid.Content.Current.Ask.Customer != request.Customer {
		f.Broken(id, "price", "%+v was paid for %d at %d", paid.Content.Current.Ask, request.Quantity, r.Content.PriceCents)
	}
}

// transactionOf returns the transaction that a charge was made for.
func transactionOf(c *Charge) string {
	id, _, _ := strings.Cut(c.Key, "/")
	return id
}
