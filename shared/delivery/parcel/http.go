package parcel

import (
	"net/http"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Package is a package as the contract shows it.
type Package struct {
	ID string `json:"id"`
	Content
}

func show(rec record.Record[Content]) Package { return Package{rec.ID, rec.Content} }

// Endpoints is the contract: GET 200 or 404; PUT 201, 200 for a change, 204
// for a repeat, 409 or 410 by the rules of package record; DELETE 204; a page of a
// customer's packages; the summary of a customer's month.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "packages", Handle: record.AnswerList("ownerId", s.PageOf, show)},
		{Method: http.MethodGet, Path: "packages/summary/{id}", Handle: s.summary},
		{Method: http.MethodGet, Path: "packages/{id}", Handle: record.AnswerGet(s.GetLive, show)},
		{Method: http.MethodPut, Path: "packages/{id}", Handle: record.AnswerPut(http.StatusNoContent, body.content, s.Put, show)},
		{Method: http.MethodDelete, Path: "packages/{id}", Handle: record.AnswerDelete(s.Delete)},
	}
}

// body is a Content as it arrives: what is missing is nil.
type body struct {
	OwnerID  *string  `json:"ownerId"`
	Size     *string  `json:"size"`
	WeightKg *float64 `json:"weightKg"`
	Tag      *string  `json:"tag"`
}

func (b body) content() (Content, error) {
	var faults problem.Faults
	content := Content{
		OwnerID:  faults.ID("/ownerId", b.OwnerID),
		Size:     faults.OneOf("/size", b.Size, value.Sizes, ""),
		WeightKg: faults.Positive("/weightKg", b.WeightKg),
		Tag:      faults.Text("/tag", b.Tag, value.MaxTag),
	}
	return content, faults.Err()
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
