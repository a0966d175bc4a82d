package stock

import (
	"context"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Backend returns the backend, by the name of its step.
func Backend(name string) business.Backend {
	return business.Backend{
		Name: name,
		Functions: []business.Function{
			{Name: "Reservations", Route: "reservations/{item}/{id}"}, {Name: "Items", Route: "items/{id}"},
		},
		Containers: []business.Container{record.Container("reservations"), {Name: "items", PartitionKey: "/id"}},
		Open: func(env business.Env) ([][]business.Endpoint, error) {
			s := &Service{Items: record.Over[Item](env.Documents("items")), Keeper: record.KeeperOf[Reservation](env, "reservations")}
			return [][]business.Endpoint{s.Endpoints(), s.ItemEndpoints()}, nil
		},
	}
}

// ItemEndpoints are those of the function Items: PUT {total, priceCents} answers
// 200; GET 200 or 404.
func (s *Service) ItemEndpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "items/{id}", Handle: record.AnswerGet(s.item, func(i Item) Item { return i })},
		{Method: http.MethodPut, Path: "items/{id}", Handle: s.putItem},
	}
}

// Endpoints are those of the function Reservations: PUT {quantity} answers 201, 200
// for a change or a repeat, 409 out-of-stock, 409 or 410 by the rules of package
// record; DELETE 204.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "reservations/{item}/{id}", Handle: record.AnswerGet(s.Keeper.GetLive, show)},
		{Method: http.MethodPut, Path: "reservations/{item}/{id}", Handle: s.put},
		{Method: http.MethodDelete, Path: "reservations/{item}/{id}", Handle: s.delete},
	}
}

// View is a reservation as the contract shows it.
type View struct {
	ID string `json:"id"`
	Reservation
}

func show(rec record.Record[Reservation]) View { return View{rec.ID, rec.Content} }

func (s *Service) item(ctx context.Context, id string) (Item, error) {
	item, _, err := s.Items.Read(ctx, id)
	return item, err
}

func (s *Service) putItem(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	var body struct {
		Total      *float64 `json:"total"`
		PriceCents *float64 `json:"priceCents"`
	}
	if err := record.ReadBody(w, r, &body); err != nil {
		return err
	}
	var faults problem.Faults
	item := Item{
		ID: id, Total: int(faults.Number("/total", body.Total, 0, MaxTotal)),
		PriceCents: int(faults.Number("/priceCents", body.PriceCents, 0, 1e9)),
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if item, err = s.PutItem(r.Context(), item); err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, item)
}

type body struct {
	Quantity *float64 `json:"quantity"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{Quantity: int(faults.Number("/quantity", b.Quantity, 1, MaxTotal))}
	return ask, faults.Err()
}

func (s *Service) put(w http.ResponseWriter, r *http.Request) error {
	item := mux.Vars(r)["item"]
	put := func(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Reservation], record.Change, error) {
		return s.Put(ctx, item, id, by, ask)
	}
	return record.AnswerPut(http.StatusOK, body.ask, put, show)(w, r)
}

func (s *Service) delete(w http.ResponseWriter, r *http.Request) error {
	item := mux.Vars(r)["item"]
	undo := func(ctx context.Context, id string, by record.By) error { return s.Delete(ctx, item, id, by) }
	return record.AnswerDelete(undo)(w, r)
}
