// Package orders is a second business on the same system: an order reserves
// stock, charges the customer through a payment provider that isn't ours,
// ships, and sends a mail, which nobody can undo. It proves that another
// business needs only its own folder. The shipped handler does not contain it:
// its tests build the handler and the tool with the two chosen files replaced.
package orders

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/orders/mail"
	"github.com/fabrikam/drone-delivery/shared/orders/payment"
	"github.com/fabrikam/drone-delivery/shared/orders/shipment"
	"github.com/fabrikam/drone-delivery/shared/orders/stock"
)

// Business returns the business.
func Business() business.Business {
	return business.Business{
		Name: "online-orders", Resource: "orders",
		Workflow: steps(), Parse: parse, ParseChange: parseChange, Key: "mail",
		Backends: []business.Backend{
			stock.Backend(StepStock), payment.Backend(StepPayment), shipment.Backend(StepShipment), mail.Backend(StepMail),
		},
		Settings: slices.Concat(payment.Settings(), shipment.Settings()),
	}
}
