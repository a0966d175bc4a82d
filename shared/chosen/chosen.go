// Package chosen says which business this app runs. No other file outside the
// business names it: to run another business, replace this file.
package chosen

import (
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery"
)

// Business returns the business of this app.
func Business() business.Business { return delivery.Business() }
