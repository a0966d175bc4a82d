// Package shipment is the backend that sends orders on their way.
package shipment

import (
	"context"
	"net/http"
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

// Service keeps the shipments. It is safe for concurrent use.
type Service struct {
	Keeper    record.Keeper[Ask]
	Countries []string // that are served
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
			s := &Service{record.KeeperOf[Ask](env, "shipments"), strings.Split(env.Settings.Text(countries), ",")}
			return [][]business.Endpoint{s.Endpoints()}, nil
		},
	}
}

// Put ships an order, or changes the shipment.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Ask], record.Change, error) {
	if !slices.Contains(s.Countries, ask.Country) {
		return record.Record[Ask]{}, "", problem.New(NotServed, "nothing is shipped to %s", ask.Country)
	}
	hash, err := record.Hash(ask)
	if err != nil {
		return record.Record[Ask]{}, "", err
	}
	return s.Keeper.Put(ctx, id, by, hash, func(*Ask) Ask { return ask })
}

// Delete calls an order back.
func (s *Service) Delete(ctx context.Context, id string, by record.By) error {
	_, err := s.Keeper.Delete(ctx, id, by)
	return err
}

// View is a shipment as the contract shows it.
type View struct {
	ID string `json:"id"`
	Ask
}

func show(rec record.Record[Ask]) View { return View{rec.ID, rec.Content} }

// Endpoints is the contract: GET 200 or 404; PUT 201, 200 for a change or a repeat,
// 422 not-served, 409 or 410 by the rules of package record; DELETE 204.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "shipments/{id}", Handle: record.AnswerGet(s.Keeper.GetLive, show)},
		{Method: http.MethodPut, Path: "shipments/{id}", Handle: record.AnswerPut(body.ask, s.Put, show)},
		{Method: http.MethodDelete, Path: "shipments/{id}", Handle: record.AnswerDelete(s.Delete)},
	}
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
