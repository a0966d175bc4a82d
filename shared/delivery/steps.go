package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The steps, which are also the names of the backends that they call.
const (
	StepAccount        = "account"
	StepPackage        = "package"
	StepTransportation = "transportation"
	StepDrone          = "drone"
	StepDelivery       = "delivery"
)

// Steps returns the definition of a delivery:
//
//	account → (package ∥ transportation) → drone → delivery
func Steps() workflow.Definition {
	return workflow.Definition{
		Name: "delivery",
		Steps: []workflow.Step{{
			Name:   StepAccount,
			Call:   callAccount,
			Accept: acceptAccount,
		}, {
			Name:  StepPackage,
			After: []string{StepAccount},
			Call:  callPackage,
			Undo:  workflow.DeleteOf(callPackage),
		}, {
			Name:     StepTransportation,
			After:    []string{StepAccount},
			Call:     callTransportation,
			Undo:     workflow.DeleteOf(callTransportation),
			Affected: affected(func(a, b Request) bool { return a.Pickup != b.Pickup || a.DropOff != b.DropOff }),
		}, {
			Name: StepDrone,
			// The assignment that the service keeps is its answer, whenever it is asked.
			Stable: true,
			After:  []string{StepPackage, StepTransportation},
			Call:   callDrone,
			Undo:   workflow.DeleteOf(callDrone),
			Pivot:  true, // it picks the package up
			Affected: affected(func(a, b Request) bool {
				return a.Pickup != b.Pickup || a.DropOff != b.DropOff || !a.PickupTime.Equal(b.PickupTime)
			}),
		}, {
			Name:  StepDelivery,
			After: []string{StepDrone},
			Uses:  []string{StepDrone},
			Call:  callDelivery,
			Undo:  workflow.DeleteOf(callDelivery),
			Affected: affected(func(a, b Request) bool {
				return a.Pickup != b.Pickup || a.DropOff != b.DropOff ||
					!a.PickupTime.Equal(b.PickupTime) || !a.DeliverBy.Equal(b.DeliverBy)
			}),
		}},
		Merge:           merge,
		ChangeableUntil: changeableUntil,
	}
}

// errNoAccount rejects an answer of the account service that tells nothing.
var errNoAccount = errors.New("the account service's answer holds no account")

func acceptAccount(result json.RawMessage) error {
	var account struct{ ID, Status string }
	if err := json.Unmarshal(result, &account); err != nil || account.ID == "" {
		return errNoAccount
	}
	if account.Status != "active" {
		return fmt.Errorf("account %s is %s", account.ID, account.Status)
	}
	return nil
}

// affected compares the requests before and after a change. Requests that can't
// be read are taken to differ: to redo a step is harmless, to leave one out is
// not.
func affected(differ func(before, after Request) bool) func(before, after json.RawMessage) bool {
	return func(before, after json.RawMessage) bool {
		var a, b Request
		if errors.Join(json.Unmarshal(before, &a), json.Unmarshal(after, &b)) != nil {
			return true
		}
		return differ(a, b)
	}
}

func merge(request, change json.RawMessage) (json.RawMessage, error) {
	r, err := Parse(request, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("read the stored request: %w", err)
	}
	c, err := ParseChange(change, time.Time{})
	if err != nil {
		return nil, err
	}
	merged, err := r.Merge(c)
	if err != nil {
		return nil, err
	}
	return merged.Canonical()
}

// changeableUntil is the pickup: from then on the package is in the air. A
// delivery that has no readable schedule can't be changed.
func changeableUntil(in workflow.Input) time.Time {
	var made struct {
		PickupAt time.Time `json:"pickupAt"`
	}
	if err := json.Unmarshal(in.Results[StepDelivery], &made); err != nil {
		return time.Time{}
	}
	return made.PickupAt
}
