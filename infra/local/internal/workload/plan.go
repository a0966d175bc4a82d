// Package workload is the demo's client: it plans delivery requests from a
// seed, sends them as any HTTP client would, follows each to its end, and holds
// what it saw against what it planned.
package workload

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is what a planned request is meant to show.
type Kind string

// The kinds.
const (
	Plain       Kind = "plain"       // completes
	Far         Kind = "far"         // needs third-party transportation, completes
	Suspended   Kind = "suspended"   // the owner's account is suspended: Rejected
	Unknown     Kind = "unknown"     // there is no such account: Rejected
	TooHeavy    Kind = "too heavy"   // no drone can carry it: Compensated
	Duplicate   Kind = "duplicate"   // sent twice under one key, completes once
	Cancelled   Kind = "cancelled"   // cancelled by its client
	Rescheduled Kind = "rescheduled" // moved to another drop-off, completes
	Malformed   Kind = "malformed"   // refused with 400
)

// share is how many of a hundred deliveries are of a kind; the rest is Plain.
// Malformed ones come on top, since they never become deliveries.
var share = []struct {
	kind    Kind
	percent int
}{
	{Far, 8}, {Suspended, 2}, {Unknown, 2}, {TooHeavy, 3}, {Duplicate, 4}, {Cancelled, 4}, {Rescheduled, 4},
}

// MinDeliveries is the smallest plan that has every kind.
const MinDeliveries = 20

// Item is one planned request.
type Item struct {
	Kind Kind
	// ID is the TransactionID for PUT; empty for POST, where the service mints
	// one. Key is the Idempotency-Key for POST.
	ID, Key string
	Request Request
	// OperationKey is the Idempotency-Key of the cancel or reschedule, Change
	// the latter's body.
	OperationKey string
	Change       Change
}

// Request is the body that a client posts.
type Request struct {
	OwnerID              string    `json:"ownerId"`
	Pickup               Location  `json:"pickup"`
	DropOff              Location  `json:"dropOff"`
	PickupTime           time.Time `json:"pickupTime"`
	DeliverBy            time.Time `json:"deliverBy"`
	Expedited            bool      `json:"expedited"`
	ConfirmationRequired string    `json:"confirmationRequired"`
	PackageInfo          Package   `json:"packageInfo"`
}

// Location is a place; altitude in meters.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Altitude  float64 `json:"altitude"`
}

// Package is what is to be carried.
type Package struct {
	PackageID string  `json:"packageId"`
	Size      string  `json:"size"`
	WeightKg  float64 `json:"weightKg"`
	Tag       string  `json:"tag"`
}

// Change is the body of a reschedule.
type Change struct {
	DropOff Location `json:"dropOff"`
}

// Accounts that Seed creates: owner-1 to owner-100, of which one is suspended.
const (
	sampleAccounts  = 100
	suspendedSample = 13
)

// Plan returns deliveries of every kind in a random but reproducible order:
// the same seed, run, count and start give the same plan. run tells one run's
// ids from another's.
func Plan(seed uint64, run string, deliveries int, start time.Time) []Item {
	random := rand.New(rand.NewPCG(seed, 0x64656c6976657279))
	kinds := make([]Kind, 0, deliveries+deliveries/100+1)
	for _, s := range share {
		for range max(1, deliveries*s.percent/100) {
			kinds = append(kinds, s.kind)
		}
	}
	for len(kinds) < deliveries {
		kinds = append(kinds, Plain)
	}
	for range max(1, deliveries/100) {
		kinds = append(kinds, Malformed)
	}
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })

	items := make([]Item, len(kinds))
	for i, kind := range kinds {
		items[i] = NewItem(random, kind, fmt.Sprintf("%s-%d-%05d", run, seed, i+1), start)
	}
	return items
}

// laterPickup is when the packages of deliveries that their clients change are
// picked up, before the fleet's time scale: late enough for a change to come
// before the pickup also on a slow machine.
const laterPickup = 4 * time.Hour

// NewItem draws a request of a kind. name is what its ids are made of; the pickup
// is wished at start, or later if its client is to change it before.
func NewItem(random *rand.Rand, kind Kind, name string, start time.Time) Item {
	pickup := Near(random, Location{Latitude: 47.61, Longitude: -122.33}, 0.2)
	it := Item{Kind: kind, Request: Request{
		OwnerID:              fmt.Sprintf("owner-%d", goodAccount(random)),
		Pickup:               pickup,
		DropOff:              Near(random, pickup, 0.1),
		PickupTime:           start.UTC().Truncate(time.Second),
		DeliverBy:            start.Add(2 * laterPickup).UTC().Truncate(time.Second),
		Expedited:            random.IntN(4) == 0,
		ConfirmationRequired: pick(random, "FingerPrint", "Picture", "Voice", "None"),
		PackageInfo: Package{
			PackageID: "package-" + name,
			Size:      pick(random, "Small", "Medium", "Large"),
			WeightKg:  round(0.2+random.Float64()*3, 2),
			Tag:       pick(random, "books", "medicine", "spare part", "groceries"),
		},
	}}
	switch kind {
	case Far:
		it.Request.DropOff = Near(random, Location{Latitude: pickup.Latitude + 1, Longitude: pickup.Longitude}, 0.1)
	case Suspended:
		it.Request.OwnerID = fmt.Sprintf("owner-%d", suspendedSample)
	case Unknown:
		it.Request.OwnerID = "nobody-" + name
	case TooHeavy:
		it.Request.PackageInfo.WeightKg = 400
	case Duplicate:
		if random.IntN(2) == 0 {
			it.ID = "delivery-" + name
		} else {
			it.Key = "key-" + name
		}
	case Cancelled:
		it.Request.PickupTime = it.Request.PickupTime.Add(laterPickup)
		it.OperationKey = "cancel-" + name
	case Rescheduled:
		it.Request.PickupTime = it.Request.PickupTime.Add(laterPickup)
		it.OperationKey = "reschedule-" + name
		it.Change.DropOff = Near(random, pickup, 0.1)
	case Malformed:
		it.Request.OwnerID = ""
		it.Request.PackageInfo.WeightKg = -1
	}
	return it
}

// goodAccount draws a sample account that is not suspended.
func goodAccount(random *rand.Rand) int {
	n := 1 + random.IntN(sampleAccounts-1)
	if n >= suspendedSample {
		n++
	}
	return n
}

// Near draws a place within about degrees of center.
func Near(random *rand.Rand, center Location, degrees float64) Location {
	return Location{
		Latitude:  round(center.Latitude+(random.Float64()*2-1)*degrees, 6),
		Longitude: round(center.Longitude+(random.Float64()*2-1)*degrees, 6),
	}
}

func pick(random *rand.Rand, values ...string) string { return values[random.IntN(len(values))] }
