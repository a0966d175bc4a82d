package parcel

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Package is a package as the contract shows it.
type Package struct {
	ID string `json:"id"`
	Content
}

// Endpoints is the contract: GET 200 or 404; PUT 201, 200 for a change or a
// repeat, 409 or 410 by the rules of package record; DELETE 204; a page of a
// customer's packages; the summary of a customer's month.
func (s *Service) Endpoints() []record.Endpoint {
	return []record.Endpoint{
		{Method: http.MethodGet, Path: "packages", Handle: s.list},
		{Method: http.MethodGet, Path: "packages/summary/{id}", Handle: s.summary},
		{Method: http.MethodGet, Path: "packages/{id}", Handle: s.get},
		{Method: http.MethodPut, Path: "packages/{id}", Handle: s.put},
		{Method: http.MethodDelete, Path: "packages/{id}", Handle: s.delete},
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
	return record.WriteJSON(w, http.StatusOK, Package{id, rec.Content})
}

type body struct {
	OwnerID  *string  `json:"ownerId"`
	Size     *string  `json:"size"`
	WeightKg *float64 `json:"weightKg"`
	Tag      *string  `json:"tag"`
}

func (b body) content() (Content, error) {
	var faults value.Faults
	content := Content{
		OwnerID:  faults.ID("/ownerId", b.OwnerID),
		Size:     faults.OneOf("/size", b.Size, value.Sizes, ""),
		WeightKg: faults.Positive("/weightKg", b.WeightKg),
		Tag:      faults.Text("/tag", b.Tag, value.MaxTag),
	}
	return content, faults.Err()
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
	content, err := b.content()
	if err != nil {
		return err
	}
	rec, change, err := s.Put(r.Context(), id, by, content)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, record.PutStatus(change), Package{id, rec.Content})
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

func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	ownerID, continuation, err := record.ListQuery(r)
	if err != nil {
		return err
	}
	page, next, err := s.PageOf(r.Context(), ownerID, continuation)
	if err != nil {
		return err
	}
	out := record.Page[Package]{Items: []Package{}, Continuation: next}
	for _, rec := range page {
		out.Items = append(out.Items, Package{rec.ID, rec.Content})
	}
	return record.WriteJSON(w, http.StatusOK, out)
}

func (s *Service) summary(w http.ResponseWriter, r *http.Request) error {
	ownerID, err := record.PathID(r)
	if err != nil {
		return err
	}
	year, errYear := strconv.Atoi(r.URL.Query().Get("year"))
	month, errMonth := strconv.Atoi(r.URL.Query().Get("month"))
	if errYear != nil || errMonth != nil || year < 1970 || year > 9998 || month < 1 || month > 12 {
		return problem.New(problem.Invalid, "year must be from 1970 to 9998 and month from 1 to 12")
	}
	sum, err := s.Summarize(r.Context(), ownerID, year, time.Month(month))
	if err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, sum)
}
