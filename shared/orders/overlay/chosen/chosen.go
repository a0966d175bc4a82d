// Package chosen takes the place of shared/chosen in a build with
// shared/orders/overlay/overlay.json: the handler and the tool are those of orders then.
package chosen

import (
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/orders"
)

// Business returns the business of this app.
func Business() business.Business { return orders.Business() }
