// Package chosen says which business this app runs. Its one file is the only one
// outside the business that names it: another business takes its place here.
package chosen

import (
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery"
)

// Business returns the business of this app.
func Business() business.Business { return delivery.Business() }
