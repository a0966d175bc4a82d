package orders

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/fabrikam/drone-delivery/shared/orders/mail"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/shipment"
	"github.com/fabrikam/drone-delivery/shared/orders/stock"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The steps, which are also the names of the backends that they call.
const StepStock, StepPayment, StepShipment, StepMail = "stock", "payment", "shipment", "mail"

// steps returns the definition of an order: stock → payment → shipment → mail.
func steps() workflow.Definition {
	return workflow.Definition{
		Name: "order",
		Steps: []workflow.Step{
			{Name: StepStock, Stable: true, Call: reserve, Undo: workflow.DeleteOf(reserve), Affected: affected},
			{Name: StepPayment, After: []string{StepStock}, Uses: []string{StepStock}, Call: charge, Undo: workflow.DeleteOf(charge), Affected: affected},
			{Name: StepShipment, After: []string{StepPayment}, Call: ship, Undo: workflow.DeleteOf(ship), Affected: affected},
			{Name: StepMail, After: []string{StepShipment}, Call: send, Undo: workflow.DeleteOf(send), Pivot: true},
		},
		Merge: merge,
		// The mail is the last step: with it the order is final.
		ChangeableUntil: func(workflow.Input) time.Time { return time.Time{} },
	}
}

func reserve(in workflow.Input) workflow.Call {
	r := read(in.Request)
	return put(StepStock, "reservations/"+url.PathEscape(r.Item)+"/", in, stock.Ask{Quantity: r.Quantity})
}

func charge(in workflow.Input) workflow.Call {
	r := read(in.Request)
	var reserved stock.Reservation
	if json.Unmarshal(in.Results[StepStock], &reserved) != nil {
		return put(StepPayment, "payments/", in, nil) // never sent: it is undone by its path alone
	}
	return put(StepPayment, "payments/", in, payment.Ask{Customer: r.Customer, Cents: reserved.PriceCents * r.Quantity})
}

func ship(in workflow.Input) workflow.Call {
	r := read(in.Request)
	return put(StepShipment, "shipments/", in, shipment.Ask{Item: r.Item, Quantity: r.Quantity, Address: r.Address, Country: r.Country})
}

func send(in workflow.Input) workflow.Call {
	r := read(in.Request)
	return put(StepMail, "mails/", in, mail.Ask{To: r.Mail, At: r.MailAt})
}

func put(backend, path string, in workflow.Input, ask any) workflow.Call {
	body, _ := json.Marshal(ask) // numbers and texts
	return workflow.Call{Backend: backend, Method: http.MethodPut, Path: path + url.PathEscape(in.TransactionID), Body: body}
}

func affected(before, after json.RawMessage) bool { return read(before) != read(after) }

func merge(request, change json.RawMessage) (json.RawMessage, error) {
	r := read(request)
	if r == (Request{}) || json.Unmarshal(change, &r) != nil {
		return nil, errors.New("the order or its change can't be read")
	}
	return json.Marshal(r)
}

// read reads what parse or merge has written; the zero Request if it can't.
func read(request json.RawMessage) (r Request) {
	if json.Unmarshal(request, &r) != nil {
		return Request{}
	}
	return r
}
