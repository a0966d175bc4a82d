// Package trial tells the proof what it needs to know of the delivery business:
// sample requests, where the effects of the steps are, and the rules over its
// records. The shipped handler does not contain it.
//
// Reading order: trial.go (the value), samples.go, world.go (what the rules look
// at), then the rules: customers.go, schedules.go, flights.go, flown.go (of the
// packages), drones.go; breaks.go.
package trial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// timeScale makes the hours of flights seconds.
const timeScale = 0.002

// Trial returns the trial of the delivery business.
func Trial() trial.Trial {
	return trial.Trial{
		Kinds: kinds, Change: change, Rivals: rivals, Before: accounts(), Meanwhile: passerBy, Settings: settings,
		Answers: map[string]any{delivery.StepAccount: map[string]string{"id": "owner-1", "status": account.Active}},
		Effects: []trial.Effect{
			{Step: delivery.StepPackage, Container: delivery.PackagesContainer, Ask: trial.Read[parcel.Content]},
			{Step: delivery.StepTransportation, Container: delivery.BookingsContainer, Ask: trial.Read[transportation.Ask]},
			{Step: delivery.StepDrone, Container: delivery.AssignmentsContainer, Ask: trial.Read[drone.Ask], World: pickup},
			{Step: delivery.StepDelivery, Container: delivery.DeliveriesContainer, Ask: trial.Read[deliveries.Ask]},
		},
		// A record, and what receivers have sent: 128 KiB of confirmations, and their wishes
		// for a notice.
		Sizes: map[string]int{
			delivery.AccountsContainer: 4 << 10, delivery.DronesContainer: 8 << 10, delivery.DeliveriesContainer: 224 << 10,
		},
		Rules: rules, Breaks: breaks,
	}
}

// settings make drones scarce, and flights short.
func settings(requests int) map[string]string {
	return map[string]string{
		"FLEET_DRONES":      strconv.Itoa(max(20, requests*3/10)),
		"FLIGHT_TIME_SCALE": strconv.FormatFloat(timeScale, 'g', -1, 64),
	}
}

// Sample accounts: owner-1 to owner-100, of which one is suspended.
const (
	sampleAccounts  = 100
	suspendedSample = 13
)

func accounts() []trial.Call {
	calls := make([]trial.Call, 0, sampleAccounts)
	for n := 1; n <= sampleAccounts; n++ {
		status := account.Active
		if n == suspendedSample {
			status = account.Suspended
		}
		calls = append(calls, putAccount(fmt.Sprintf("owner-%d", n), fmt.Sprintf("Sample owner %d", n), status))
	}
	return calls
}

// passerBy opens accounts and suspends them again, so that their backend writes as
// well while everything breaks. No delivery is for them.
func passerBy(n int) trial.Call {
	status := account.Active
	if n%2 == 1 {
		status = account.Suspended
	}
	return putAccount(fmt.Sprintf("passer-by-%d", n/2), "Passer-by", status)
}

func putAccount(id, name, status string) trial.Call {
	return trial.Call{Method: http.MethodPut, Path: "account/" + id, Body: map[string]string{"name": name, "status": status}}
}

// pickup is what the world does and nobody undoes.
func pickup(content json.RawMessage) (time.Time, bool) {
	var a drone.Assignment
	if err := json.Unmarshal(content, &a); err != nil || a.DroneID == "" {
		return time.Time{}, false
	}
	return a.PickupAt, a.PickedUp
}
