package workflowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// TripRequest is the request of a Trip.
type TripRequest struct {
	City    string    `json:"city"`
	Nights  int       `json:"nights"`
	Flight  string    `json:"flight"`
	Departs time.Time `json:"departs"`
}

// Trip is a business that has nothing to do with deliveries: hotel and flight
// side by side, then the payment. The payment's amount comes from both; a
// payment that answers {"declined":true} is not accepted. It can be changed
// until it departs.
func Trip() *workflow.Definition {
	return &workflow.Definition{
		Name: "trip",
		Steps: []workflow.Step{
			tripStep("hotel", nil, func(r TripRequest) any { return []any{r.City, r.Nights} }),
			tripStep("flight", nil, func(r TripRequest) any { return []any{r.City, r.Flight, r.Departs} }),
			tripStep("payment", []string{"hotel", "flight"}, func(r TripRequest) any { return r }),
		},
		Merge:           mergeTrip,
		ChangeableUntil: func(in workflow.Input) time.Time { return trip(in.Request).Departs },
	}
}

// tripStep is a step that sends what part takes from the request, and is
// affected by a change of it.
func tripStep(name string, after []string, part func(TripRequest) any) workflow.Step {
	path := func(in workflow.Input) string { return name + "s/" + in.TransactionID }
	return workflow.Step{
		Name: name, After: after, Uses: after, Stable: true,
		Call: func(in workflow.Input) workflow.Call {
			body, err := json.Marshal(map[string]any{"part": part(trip(in.Request)), "results": in.Results})
			if err != nil {
				panic(fmt.Sprintf("body of %s: %v", name, err)) // it is made of JSON
			}
			return workflow.Call{Backend: name, Method: "PUT", Path: path(in), Body: body}
		},
		Undo: func(in workflow.Input) workflow.Call {
			return workflow.Call{Backend: name, Method: "DELETE", Path: path(in)}
		},
		Accept: func(result json.RawMessage) error {
			var answer struct {
				Declined bool `json:"declined"`
			}
			if err := json.Unmarshal(result, &answer); err != nil {
				return fmt.Errorf("answer of %s: %w", name, err)
			}
			if answer.Declined {
				return errors.New("declined")
			}
			return nil
		},
		Affected: func(before, after json.RawMessage) bool {
			return !reflect.DeepEqual(part(trip(before)), part(trip(after)))
		},
	}
}

func mergeTrip(request, change json.RawMessage) (json.RawMessage, error) {
	r := trip(request)
	if err := json.Unmarshal(change, &r); err != nil {
		return nil, fmt.Errorf("change of a trip: %w", err)
	}
	if r.Nights <= 0 {
		return nil, fmt.Errorf("%d nights are no trip", r.Nights)
	}
	return json.Marshal(r)
}

// trip reads a request that has been checked; what it can't read is zero.
func trip(body json.RawMessage) TripRequest {
	var r TripRequest
	_ = json.Unmarshal(body, &r)
	return r
}

// TripBody is a request that departs two days after Start.
func TripBody() json.RawMessage {
	body, err := json.Marshal(TripRequest{City: "Oslo", Nights: 3, Flight: "FB 12", Departs: Start.Add(48 * time.Hour)})
	if err != nil {
		panic(err) // it is a plain struct
	}
	return body
}
