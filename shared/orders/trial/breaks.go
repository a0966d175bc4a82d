package trial

import (
	"encoding/json"

	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/stock"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// breaks make one thing wrong for each of the rules.
var breaks = []trial.Break{
	{Rule: "stock", What: "kept for nobody", Do: func(s *trial.Stored) string {
		return editItem(s, func(i *stock.Item) { i.Holds = append(i.Holds, stock.Hold{TransactionID: "nobody", Quantity: 1}) }, "nobody")
	}},
	{Rule: "stock", What: "promised too often", Do: func(s *trial.Stored) string {
		return editItem(s, func(i *stock.Item) { i.Total = 0 }, "")
	}},
	{Rule: "stock", What: "not kept", Do: func(s *trial.Stored) string {
		var id string
		editItem(s, func(i *stock.Item) { id, i.Holds = i.Holds[0].TransactionID, i.Holds[1:] }, "")
		return id
	}},
	{Rule: "money", What: "charged for nothing", Do: func(s *trial.Stored) string {
		return addCharge(s, Charge{Key: "nobody/1", ID: "ch-0", Ask: payment.Ask{Customer: "nobody", Cents: 1}}, "nobody")
	}},
	{Rule: "money", What: "charged twice", Do: func(s *trial.Stored) string {
		id := payer(s)
		return addCharge(s, Charge{Key: id + "/9", ID: "ch-0", Ask: payment.Ask{Customer: "c", Cents: 1}}, id)
	}},
	{Rule: "money", What: "not charged", Do: func(s *trial.Stored) string {
		id := payer(s)
		return editLedger(s, func(c *Charge) {
			if transactionOf(c) == id {
				c.Refunds = []string{"r"}
			}
		}, id)
	}},
	{Rule: "money", What: "refunded twice", Do: func(s *trial.Stored) string {
		id := payer(s)
		return editLedger(s, func(c *Charge) {
			if transactionOf(c) == id {
				c.Refunds = []string{"r", "s"}
			}
		}, id)
	}},
	{Rule: "money", What: "price", Do: func(s *trial.Stored) string {
		id := payer(s)
		for i := range s.Records["reservations"] {
			r := &s.Records["reservations"][i]
			var content stock.Reservation
			if r.ID == id && json.Unmarshal(r.Content, &content) == nil {
				content.PriceCents++
				r.Content, _ = json.Marshal(content) // it was read from JSON
				return id
			}
		}
		return ""
	}},
}

// payer returns a completed order, "" if there is none.
func payer(s *trial.Stored) string {
	for _, p := range s.Transactions {
		if p.State == "Completed" {
			return p.ID
		}
	}
	return ""
}

// editItem changes an item that is held, and returns id, or the item's for "". It
// returns "" if there is no such item.
func editItem(s *trial.Stored, change func(*stock.Item), id string) string {
	for n, doc := range s.Others["items"] {
		var item stock.Item
		if json.Unmarshal(doc, &item) != nil || len(item.Holds) == 0 {
			continue
		}
		change(&item)
		s.Others["items"][n], _ = json.Marshal(item) // it was read from JSON
		if id == "" {
			id = item.ID
		}
		return id
	}
	return ""
}

func addCharge(s *trial.Stored, c Charge, id string) string {
	return withLedger(s, func(all []Charge) []Charge { return append(all, c) }, id)
}

func editLedger(s *trial.Stored, change func(*Charge), id string) string {
	return withLedger(s, func(all []Charge) []Charge {
		for i := range all {
			change(&all[i])
		}
		return all
	}, id)
}

// withLedger changes the provider's ledger, and returns id; "" if that is it, or
// there is no ledger.
func withLedger(s *trial.Stored, change func([]Charge) []Charge, id string) string {
	all, err := Charges(s.Ledgers[ledgerName])
	if id == "" || err != nil {
		return ""
	}
	s.Ledgers[ledgerName], _ = json.Marshal(change(all)) // it was read from JSON
	return id
}
