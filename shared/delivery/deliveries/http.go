package deliveries

import (
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// View is a delivery as PUT and the list show it.
type View struct {
	ID string `json:"id"`
	Ask
}

func view(rec record.Record[Content]) View { return View{rec.ID, rec.Content.Ask} }

// Detail is a delivery as GET shows it.
type Detail struct {
	ID string `json:"id"`
	Content
}

func detail(rec record.Record[Content]) Detail { return Detail{rec.ID, rec.Content} }

// Endpoints is the contract: PUT answers 201, 200 for a change or a repeat, 409
// or 410 by the rules of package record; GET 200 or 404; DELETE 204; the
// status, the events, the owner and the wishes for a notice of one; a page of a customer's deliveries;
// POST of a confirmation or a wish for a notice 204, 404 or 409.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "deliveries", Handle: record.AnswerList("ownerId", s.PageOf, view)},
		{Method: http.MethodGet, Path: "deliveries/{id}", Handle: record.AnswerGet(s.GetLive, detail)},
		{Method: http.MethodPut, Path: "deliveries/{id}", Handle: record.AnswerPut(http.StatusOK, body.ask, s.Put, view)},
		{Method: http.MethodDelete, Path: "deliveries/{id}", Handle: record.AnswerDelete(s.Delete)},
		{Method: http.MethodGet, Path: "deliveries/{id}/owner", Handle: record.AnswerGet(s.GetLive, ownerOf)},
		{Method: http.MethodGet, Path: "deliveries/{id}/status", Handle: record.AnswerGet(s.Track, statusOf)},
		{Method: http.MethodGet, Path: "deliveries/{id}/events", Handle: record.AnswerGet(s.Track, eventsOf)},
		{Method: http.MethodPost, Path: "deliveries/{id}/confirmations", Handle: record.AnswerPost(confirmationBody.confirmation, s.Confirm)},
		{Method: http.MethodGet, Path: "deliveries/{id}/notifymerequests", Handle: record.AnswerGet(s.ever, wishesOf)},
		{Method: http.MethodPost, Path: "deliveries/{id}/notifymerequests", Handle: record.AnswerPost(noticeBody.notice, s.Notify)},
	}
}

// body is an Ask as it arrives: what is missing is nil.
type body struct {
	OwnerID              *string             `json:"ownerId"`
	PackageID            *string             `json:"packageId"`
	Pickup               *value.LocationBody `json:"pickup"`
	DropOff              *value.LocationBody `json:"dropOff"`
	PickupTime           *string             `json:"pickupTime"`
	DeliverBy            *string             `json:"deliverBy"`
	Expedited            bool                `json:"expedited"`
	ConfirmationRequired *string             `json:"confirmationRequired"`
	DroneID              *string             `json:"droneId"`
	DepartAt             *string             `json:"departAt"`
	PickupAt             *string             `json:"pickupAt"`
	ArriveAt             *string             `json:"arriveAt"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{
		OwnerID:    faults.ID("/ownerId", b.OwnerID),
		PackageID:  faults.ID("/packageId", b.PackageID),
		Pickup:     b.Pickup.Location(&faults, "/pickup"),
		DropOff:    b.DropOff.Location(&faults, "/dropOff"),
		PickupTime: faults.Time("/pickupTime", b.PickupTime),
		DeliverBy:  faults.Time("/deliverBy", b.DeliverBy),
		Expedited:  b.Expedited,
		ConfirmationRequired: faults.OneOf("/confirmationRequired", b.ConfirmationRequired,
			value.Confirmations, value.NoConfirmation),
		DroneID:  faults.ID("/droneId", b.DroneID),
		DepartAt: faults.Time("/departAt", b.DepartAt),
		PickupAt: faults.Time("/pickupAt", b.PickupAt),
		ArriveAt: faults.Time("/arriveAt", b.ArriveAt),
	}
	inOrder(&faults, "/pickupAt", "departAt", ask.DepartAt, ask.PickupAt)
	inOrder(&faults, "/arriveAt", "pickupAt", ask.PickupAt, ask.ArriveAt)
	return ask, faults.Err()
}

// inOrder notes a time that is before an earlier one, if both are sound.
func inOrder(faults *problem.Faults, pointer, earlier string, first, second time.Time) {
	if !first.IsZero() && !second.IsZero() && second.Before(first) {
		faults.Add(pointer, "must not be before %s", earlier)
	}
}
