package delivery

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/backend/record"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// The greatest lengths of what receivers send, in characters.
const (
	maxBlob    = 16 << 10
	maxAddress = 254 // RFC 5321, section 4.5.3.1.3
)

// Owner is whom a delivery is for.
type Owner struct {
	OwnerID string `json:"ownerId"`
}

func (s *Service) owner(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	rec, err := s.Get(r.Context(), id)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, Owner{rec.Content.OwnerID})
}

func (s *Service) status(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	tracking, err := s.Track(r.Context(), id)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, tracking.Status)
}

func (s *Service) events(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	tracking, err := s.Track(r.Context(), id)
	if err != nil {
		return err
	}
	return record.WriteJSON(w, http.StatusOK, record.Page[Event]{Items: tracking.Events})
}

func (s *Service) confirm(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	var b struct {
		ConfirmationType *string             `json:"confirmationType"`
		GeoCoordinates   *value.LocationBody `json:"geoCoordinates"`
		ConfirmationBlob *string             `json:"confirmationBlob"`
	}
	if err := record.ReadBody(w, r, &b); err != nil {
		return err
	}
	var faults value.Faults
	confirmation := Confirmation{
		ConfirmationType: faults.OneOf("/confirmationType", b.ConfirmationType, value.Confirmations, ""),
		GeoCoordinates:   b.GeoCoordinates.Location(&faults, "/geoCoordinates"),
		ConfirmationBlob: faults.Text("/confirmationBlob", b.ConfirmationBlob, maxBlob),
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := s.Confirm(r.Context(), id, confirmation); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) notify(w http.ResponseWriter, r *http.Request) error {
	id, err := record.PathID(r)
	if err != nil {
		return err
	}
	var b struct {
		EmailAddress *string `json:"emailAddress"`
		SMS          *string `json:"sms"`
	}
	if err := record.ReadBody(w, r, &b); err != nil {
		return err
	}
	var faults value.Faults
	notice := Notice{
		EmailAddress: faults.Text("/emailAddress", b.EmailAddress, maxAddress),
		SMS:          faults.Text("/sms", b.SMS, maxAddress),
	}
	if notice == (Notice{}) {
		faults.Add("", "must have an emailAddress or an sms")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := s.Notify(r.Context(), id, notice); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
