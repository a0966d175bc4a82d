package deliveries

import (
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// Ask is what a transaction asks for: the request, and the schedule of the drone
// that flies it.
type Ask struct {
	OwnerID              string         `json:"ownerId"`
	PackageID            string         `json:"packageId"`
	Pickup               value.Location `json:"pickup"`
	DropOff              value.Location `json:"dropOff"`
	PickupTime           time.Time      `json:"pickupTime"`
	DeliverBy            time.Time      `json:"deliverBy"`
	Expedited            bool           `json:"expedited"`
	ConfirmationRequired string         `json:"confirmationRequired"`
	DroneID              string         `json:"droneId"`
	DepartAt             time.Time      `json:"departAt"` // for the pickup
	PickupAt             time.Time      `json:"pickupAt"`
	ArriveAt             time.Time      `json:"arriveAt"`
}

// Content is what is kept of a delivery.
type Content struct {
	Ask
	Confirmations []Confirmation `json:"confirmations,omitempty"`
	Notices       []Notice       `json:"notices,omitempty"`
}

// Confirmation is a receiver's word that the package has arrived.
type Confirmation struct {
	ConfirmationType string         `json:"confirmationType"`
	GeoCoordinates   value.Location `json:"geoCoordinates"`
	// ConfirmationBlob is the finger print, picture or voice, in base64 or as a
	// reference to where it is kept.
	ConfirmationBlob string    `json:"confirmationBlob,omitempty"`
	At               time.Time `json:"at"` // when it came in
}

func (c Confirmation) sameAs(other Confirmation) bool {
	c.At, other.At = time.Time{}, time.Time{}
	return c == other
}

// Notice is a wish to be told of the arrival, or that there will be none. Who sends it is
// no matter of this backend.
type Notice struct {
	EmailAddress string `json:"emailAddress,omitempty"`
	SMS          string `json:"sms,omitempty"`
}
