// Package shipment is the backend that sends orders on their way.
package shipment

import (
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// NotServed refuses a shipment for good.
var NotServed = problem.Type{ID: "not-served", Status: 422, Title: "Nothing is shipped there"}

// Ask is what a transaction asks for.
type Ask struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
	Address  string `json:"address"`
	Country  string `json:"country"`
}

// countries is the setting of those that are served.
const countries = "SHIPMENT_COUNTRIES"

// Settings returns the backend's settings.
func Settings() []business.Setting {
	return []business.Setting{{Name: countries, Default: "DE,FR,US", Text: "countries that orders are shipped to, separated by commas"}}
}

// Backend returns the backend, by the name of its step.
func Backend(name string) business.Backend {
	return business.Backend{
		Name:       name,
		Functions:  []business.Function{{Name: "Shipments", Route: "shipments/{id}"}},
		Containers: []business.Container{record.Container("shipments")},
		Open: func(env business.Env) ([][]business.Endpoint, error) {
			served := strings.Split(env.Settings.Text(countries), ",")
			return [][]business.Endpoint{Endpoints(record.KeeperOf[Ask](env, "shipments"), served)}, nil
		},
	}
}

// Endpoints is the contract of a service that ships to some countries: GET 200 or
// 404; PUT 201, 200 for a change or a repeat, 422 not-served, 409 or 410 by the
// rules of package record; DELETE 204.
func Endpoints(k record.Keeper[Ask], served []string) []business.Endpoint {
	check := func(b body) (Ask, error) {
		ask, err := b.ask()
		if err == nil && !slices.Contains(served, ask.Country) {
			err = problem.New(NotServed, "nothing is shipped to %s", ask.Country)
		}
		return ask, err
	}
	return record.Endpoints("shipments/{id}", &k, check, func(ask Ask, _ *Ask) Ask { return ask })
}

type body struct {
	Item     *string  `json:"item"`
	Quantity *float64 `json:"quantity"`
	Address  *string  `json:"address"`
	Country  *string  `json:"country"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{
		Item: faults.ID("/item", b.Item), Quantity: int(faults.Number("/quantity", b.Quantity, 1, 1000)),
		Address: faults.Text("/address", b.Address, 200), Country: faults.Text("/country", b.Country, 2),
	}
	return ask, faults.Err()
}
