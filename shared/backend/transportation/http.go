package transportation

import (
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// View is a booking as the contract shows it.
type View struct {
	ID string `json:"id"`
	Booking
}

// Endpoints is the contract: PUT {pickup, dropOff} answers 201, 200 for a
// change or a repeat, 409 or 410 by the rules of package record; GET 200 or
// 404; DELETE 204.
func (s *Service) Endpoints() []record.Endpoint {
	return []record.Endpoint{
		{Method: http.MethodGet, Path: "thirdpartydeliveries/{id}", Handle: s.get},
		{Method: http.MethodPut, Path: "thirdpartydeliveries/{id}", Handle: s.put},
		{Method: http.MethodDelete, Path: "thirdpartydeliveries/{id}", Handle: s.delete},
	}
}

// Routes adds the endpoints to a router.
func (s *Service) Routes(r *mux.Router, log *slog.Logger) { record.Mount(r, log, s.Endpoints()) }

func (s *Service) get(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	rec, err := s.Get(r.Context(), id)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, View{id, rec.Content})
}

type body struct {
	Pickup  *value.LocationBody `json:"pickup"`
	DropOff *value.LocationBody `json:"dropOff"`
}

func (s *Service) put(w http.ResponseWriter, r *http.Request) error {
	id, by, err := record.ReadCall(r)
	if err != nil {
		return err
	}
	var b body
	if err := record.ReadBody(w, r, &b); err != nil {
		return err
	}
	var faults value.Faults
	ask := Ask{Pickup: b.Pickup.Location(&faults, "/pickup"), DropOff: b.DropOff.Location(&faults, "/dropOff")}
	if err := faults.Err(); err != nil {
		return err
	}
	rec, change, err := s.Put(r.Context(), id, by, ask)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, record.PutStatus(change), View{id, rec.Content})
}

func (s *Service) delete(w http.ResponseWriter, r *http.Request) error {
	id, by, err := record.ReadCall(r)
	if err != nil {
		return err
	}
	if err := s.Delete(r.Context(), id, by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
