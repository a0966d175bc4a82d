package delivery

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Location is a place on or above the earth.
type Location = value.Location

// Request asks for one package to be picked up and delivered. The values that
// Parse and Merge return are valid; times are in UTC.
type Request struct {
	OwnerID    string    `json:"ownerId"`
	Pickup     Location  `json:"pickup"`
	DropOff    Location  `json:"dropOff"`
	PickupTime time.Time `json:"pickupTime"`
	DeliverBy  time.Time `json:"deliverBy"` // after PickupTime
	Expedited  bool      `json:"expedited"`
	// ConfirmationRequired is one of value.Confirmations.
	ConfirmationRequired string      `json:"confirmationRequired"`
	PackageInfo          PackageInfo `json:"packageInfo"`
}

// PackageInfo describes the package.
type PackageInfo struct {
	PackageID string  `json:"packageId"`
	Size      string  `json:"size"`     // one of value.Sizes
	WeightKg  float64 `json:"weightKg"` // greater than 0
	Tag       string  `json:"tag,omitempty"`
}

// requestBody is a Request as it arrives: what is missing is nil.
type requestBody struct {
	OwnerID              *string             `json:"ownerId"`
	Pickup               *value.LocationBody `json:"pickup"`
	DropOff              *value.LocationBody `json:"dropOff"`
	PickupTime           *string             `json:"pickupTime"`
	DeliverBy            *string             `json:"deliverBy"`
	Expedited            bool                `json:"expedited"`
	ConfirmationRequired *string             `json:"confirmationRequired"`
	PackageInfo          *packageBody        `json:"packageInfo"`
}

type packageBody struct {
	PackageID *string  `json:"packageId"`
	Size      *string  `json:"size"`
	WeightKg  *float64 `json:"weightKg"`
	Tag       *string  `json:"tag"`
}

// Parse reads a request from JSON. It is strict: unknown fields, fields given
// twice and names in another case are refused. expedited (false),
// confirmationRequired (None), altitude (0) and tag (none) may be left out.
// latest is the latest pickupTime that is taken; the zero time is no limit, for
// what was accepted before: the limit is for clients alone. The error is a
// *problem.Problem that lists every field at fault.
func Parse(data []byte, latest time.Time) (Request, error) {
	var body requestBody
	faults, err := problem.DecodeAll(data, &body)
	if err != nil {
		return Request{}, err
	}
	request := Request{
		OwnerID:    faults.ID("/ownerId", body.OwnerID),
		Pickup:     body.Pickup.Location(faults, "/pickup"),
		DropOff:    body.DropOff.Location(faults, "/dropOff"),
		PickupTime: faults.Time("/pickupTime", body.PickupTime),
		DeliverBy:  faults.Time("/deliverBy", body.DeliverBy),
		Expedited:  body.Expedited,
		ConfirmationRequired: faults.OneOf("/confirmationRequired", body.ConfirmationRequired,
			value.Confirmations, value.NoConfirmation),
		PackageInfo: body.PackageInfo.info(faults, "/packageInfo"),
	}
	checkHorizon(faults, request.PickupTime, latest)
	checkOrder(faults, request.PickupTime, request.DeliverBy)
	if err := faults.Err(); err != nil {
		return Request{}, err
	}
	return request, nil
}

func (b *packageBody) info(faults *problem.Faults, pointer string) PackageInfo {
	if b == nil {
		faults.Add(pointer, "is required")
		return PackageInfo{}
	}
	return PackageInfo{
		PackageID: faults.ID(pointer+"/packageId", b.PackageID),
		Size:      faults.OneOf(pointer+"/size", b.Size, value.Sizes, ""),
		WeightKg:  faults.Positive(pointer+"/weightKg", b.WeightKg),
		Tag:       faults.Text(pointer+"/tag", b.Tag, value.MaxTag),
	}
}

// checkHorizon notes a pickup that is after the latest one, if there is such a
// limit. deliverBy needs none: nothing is held for it, and no document lives by it.
func checkHorizon(faults *problem.Faults, pickup, latest time.Time) {
	if !latest.IsZero() && pickup.After(latest) {
		faults.Add("/pickupTime", "must not be after %s, further ahead than deliveries are taken", latest.UTC().Format(time.RFC3339))
	}
}

// checkOrder notes a deliverBy that is not after the pickup, if both times are
// known and sound.
func checkOrder(faults *problem.Faults, pickup, deliverBy time.Time) {
	if !pickup.IsZero() && !deliverBy.IsZero() && !deliverBy.After(pickup) {
		faults.Add("/deliverBy", "must be after pickupTime")
	}
}

// Canonical returns the one JSON form of r, whatever the order, spacing and
// time zones of the body that it was read from: what is hashed to recognize a
// repeat, and what is sent on. It fails only for values that Parse refuses.
func (r Request) Canonical() (json.RawMessage, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return data, nil
}
