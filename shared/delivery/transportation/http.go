package transportation

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// View is a booking as the contract shows it.
type View struct {
	ID string `json:"id"`
	Booking
}

func show(rec record.Record[Booking]) View { return View{rec.ID, rec.Content} }

// Endpoints is the contract: PUT {pickup, dropOff} answers 201, 200 for a
// change, 204 for a repeat, 409 or 410 by the rules of package record; GET 200 or
// 404; DELETE 204.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "thirdpartydeliveries/{id}", Handle: record.AnswerGet(s.GetLive, show)},
		{Method: http.MethodPut, Path: "thirdpartydeliveries/{id}", Handle: record.AnswerPut(http.StatusNoContent, body.ask, s.Put, show)},
		{Method: http.MethodDelete, Path: "thirdpartydeliveries/{id}", Handle: record.AnswerDelete(s.Delete)},
	}
}

// body is an Ask as it arrives: what is missing is nil.
type body struct {
	Pickup  *value.LocationBody `json:"pickup"`
	DropOff *value.LocationBody `json:"dropOff"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{Pickup: b.Pickup.Location(&faults, "/pickup"), DropOff: b.DropOff.Location(&faults, "/dropOff")}
	return ask, faults.Err()
}
