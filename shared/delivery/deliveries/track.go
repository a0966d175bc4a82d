package deliveries

import (
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
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

func ownerOf(rec record.Record[Content]) Owner { return Owner{rec.Content.OwnerID} }

// Wishes is who wants to be told of a delivery, and of what.
type Wishes struct {
	PackageID string    `json:"packageId"`
	Cancelled bool      `json:"cancelled"`
	ArriveAt  time.Time `json:"arriveAt"` // expected, or past
	Items     []Notice  `json:"items"`    // in the order in which they came
}

func wishesOf(rec record.Record[Content]) Wishes {
	c := rec.Content
	return Wishes{PackageID: c.PackageID, Cancelled: !rec.Live(), ArriveAt: c.ArriveAt, Items: append([]Notice{}, c.Notices...)}
}

func statusOf(t Tracking) Status { return t.Status }

func eventsOf(t Tracking) record.Page[TrackingEvent] {
	return record.Page[TrackingEvent]{Items: t.Events}
}

// confirmationBody is a Confirmation as it arrives: what is missing is nil.
type confirmationBody struct {
	ConfirmationType *string             `json:"confirmationType"`
	GeoCoordinates   *value.LocationBody `json:"geoCoordinates"`
	ConfirmationBlob *string             `json:"confirmationBlob"`
}

func (b confirmationBody) confirmation() (Confirmation, error) {
	var faults problem.Faults
	confirmation := Confirmation{
		ConfirmationType: faults.OneOf("/confirmationType", b.ConfirmationType, value.Confirmations, ""),
		GeoCoordinates:   b.GeoCoordinates.Location(&faults, "/geoCoordinates"),
		ConfirmationBlob: faults.Text("/confirmationBlob", b.ConfirmationBlob, maxBlob),
	}
	return confirmation, faults.Err()
}

// noticeBody is a Notice as it arrives: what is missing is nil.
type noticeBody struct {
	EmailAddress *string `json:"emailAddress"`
	SMS          *string `json:"sms"`
}

func (b noticeBody) notice() (Notice, error) {
	var faults problem.Faults
	notice := Notice{
		EmailAddress: faults.Text("/emailAddress", b.EmailAddress, maxAddress),
		SMS:          faults.Text("/sms", b.SMS, maxAddress),
	}
	if notice.EmailAddress != "" && !business.MailAddress(notice.EmailAddress) {
		faults.Add("/emailAddress", "must be an address such as name@example.com")
	}
	if notice == (Notice{}) {
		faults.Add("", "must have an emailAddress or an sms")
	}
	return notice, faults.Err()
}
