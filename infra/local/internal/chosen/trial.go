// Package chosen says which business's trial the proof runs. Its one file is the
// only one under infra that names it: another business's takes its place here.
package chosen

import (
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	deliverytrial "github.com/fabrikam/drone-delivery/shared/delivery/trial"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Trial returns the trial of the business that shared/chosen names; nil for none.
func Trial() *trial.Trial { return new(deliverytrial.Trial()) }

// Business returns the business as the checker needs it, until shared/chosen has it.
func Business() business.Business {
	effects := func(name string) business.Container {
		return business.Container{Name: name, PartitionKey: "/id", Expires: true, Effects: true}
	}
	return business.Business{
		Name: "drone-delivery", Resource: "deliveryrequests", Workflow: delivery.Steps(),
		Parse: func(body []byte, _ business.Values, _ time.Time) (business.Request, error) {
			r, err := delivery.Parse(body, time.Time{})
			if err != nil {
				return business.Request{}, err
			}
			canonical, err := r.Canonical()
			return business.Request{Canonical: canonical, Account: r.OwnerID, AccountField: "ownerId"}, err
		},
		ParseChange: func(body []byte, _ business.Values, _ time.Time) (json.RawMessage, error) {
			c, err := delivery.ParseChange(body, time.Time{})
			if err != nil {
				return nil, err
			}
			return c.Canonical()
		},
		Backends: []business.Backend{
			{Name: delivery.StepAccount, Containers: []business.Container{{Name: delivery.AccountsContainer, PartitionKey: "/id"}}},
			{Name: delivery.StepPackage, Containers: []business.Container{effects(delivery.PackagesContainer)}},
			{Name: delivery.StepTransportation, Containers: []business.Container{effects(delivery.BookingsContainer)}},
			{Name: delivery.StepDrone, Containers: []business.Container{effects(delivery.AssignmentsContainer), {Name: delivery.DronesContainer, PartitionKey: "/zone"}}},
			{Name: delivery.StepDelivery, Containers: []business.Container{effects(delivery.DeliveriesContainer)}},
		},
	}
}
