package account

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// MaxName is the greatest length of a name, in characters.
const MaxName = 200

// Endpoints is the contract: GET answers 200 or 404; PUT {name, status} answers
// 201 or 200.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "account/{id}", Handle: record.AnswerGet(s.Get, show)},
		{Method: http.MethodPut, Path: "account/{id}", Handle: s.put},
	}
}

// show shows an account as it is kept.
func show(account Account) Account { return account }

// body is an account as it arrives. The id is the path's; it may be repeated.
type body struct {
	ID     *string `json:"id"`
	Name   *string `json:"name"`
	Status *string `json:"status"`
}

func (s *Service) put(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	var b body
	if err := record.ReadBody(w, r, &b); err != nil {
		return err
	}
	var faults problem.Faults
	if b.ID != nil && *b.ID != id {
		faults.Add("/id", "must be the id in the path")
	}
	account := Account{
		ID:     id,
		Name:   faults.Text("/name", b.Name, MaxName),
		Status: faults.OneOf("/status", b.Status, []string{Active, Suspended}, Active),
	}
	if err := faults.Err(); err != nil {
		return err
	}
	created, err := s.Put(r.Context(), account)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return record.WriteJSON(w, status, account)
}
