package delivery

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The bodies of the calls, as the backends expect them.
type (
	packageCall struct {
		OwnerID  string  `json:"ownerId"`
		Size     string  `json:"size"`
		WeightKg float64 `json:"weightKg"`
		Tag      string  `json:"tag,omitempty"`
	}
	transportationCall struct {
		Pickup  Location `json:"pickup"`
		DropOff Location `json:"dropOff"`
	}
	droneCall struct {
		Pickup        Location      `json:"pickup"`
		DropOff       Location      `json:"dropOff"`
		PickupTime    time.Time     `json:"pickupTime"`
		PackageDetail packageDetail `json:"packageDetail"`
		Expedited     bool          `json:"expedited"`
	}
	packageDetail struct {
		ID       string  `json:"id"`
		Size     string  `json:"size"`
		WeightKg float64 `json:"weightKg"`
	}
	deliveryCall struct {
		OwnerID              string    `json:"ownerId"`
		PackageID            string    `json:"packageId"`
		Pickup               Location  `json:"pickup"`
		DropOff              Location  `json:"dropOff"`
		PickupTime           time.Time `json:"pickupTime"`
		DeliverBy            time.Time `json:"deliverBy"`
		Expedited            bool      `json:"expedited"`
		ConfirmationRequired string    `json:"confirmationRequired"`
		flight
	}
	// flight is what the delivery step uses of the drone step's result.
	flight struct {
		DroneID  string    `json:"droneId"`
		DepartAt time.Time `json:"departAt"`
		PickupAt time.Time `json:"pickupAt"`
		ArriveAt time.Time `json:"arriveAt"`
	}
)

// The calls have no error to return. A request that can't be read, which Parse
// has let nobody send, becomes calls without an owner or a body, and the
// backends refuse those; the undos need no more than the ids.

func callAccount(in workflow.Input) workflow.Call {
	r, _ := request(in)
	return workflow.Call{
		Backend: StepAccount,
		Method:  http.MethodGet,
		Path:    "account/" + url.PathEscape(r.OwnerID),
	}
}

func callPackage(in workflow.Input) workflow.Call {
	r, ok := request(in)
	p := r.PackageInfo
	return put(StepPackage, "packages/"+url.PathEscape(p.PackageID), ok, packageCall{
		OwnerID: r.OwnerID, Size: p.Size, WeightKg: p.WeightKg, Tag: p.Tag,
	})
}

func callTransportation(in workflow.Input) workflow.Call {
	r, ok := request(in)
	return put(StepTransportation, "thirdpartydeliveries/"+url.PathEscape(in.TransactionID), ok,
		transportationCall{Pickup: r.Pickup, DropOff: r.DropOff})
}

func callDrone(in workflow.Input) workflow.Call {
	r, ok := request(in)
	p := r.PackageInfo
	return put(StepDrone, "dronedeliveries/"+url.PathEscape(in.TransactionID), ok, droneCall{
		Pickup: r.Pickup, DropOff: r.DropOff, PickupTime: r.PickupTime, Expedited: r.Expedited,
		PackageDetail: packageDetail{ID: p.PackageID, Size: p.Size, WeightKg: p.WeightKg},
	})
}

func callDelivery(in workflow.Input) workflow.Call {
	r, ok := request(in)
	body := deliveryCall{
		OwnerID: r.OwnerID, PackageID: r.PackageInfo.PackageID, Pickup: r.Pickup, DropOff: r.DropOff,
		PickupTime: r.PickupTime, DeliverBy: r.DeliverBy, Expedited: r.Expedited,
		ConfirmationRequired: r.ConfirmationRequired,
	}
	err := json.Unmarshal(in.Results[StepDrone], &body.flight)
	return put(StepDelivery, "deliveries/"+url.PathEscape(in.TransactionID), ok && err == nil, body)
}

// put is a PUT of body, or without one if it would not be what was asked for.
func put(backend, path string, ok bool, body any) workflow.Call {
	call := workflow.Call{Backend: backend, Method: http.MethodPut, Path: path}
	if data, err := json.Marshal(body); ok && err == nil {
		call.Body = data
	}
	return call
}

// request returns the request, and whether it could be read.
func request(in workflow.Input) (Request, bool) {
	var r Request
	if err := json.Unmarshal(in.Request, &r); err != nil {
		return Request{}, false
	}
	return r, true
}
