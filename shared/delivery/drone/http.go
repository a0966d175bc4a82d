package drone

import (
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// View is an assignment as the contract shows it.
type View struct {
	ID string `json:"id"`
	Ask
	Flight
}

func show(rec record.Record[Assignment]) View {
	return View{rec.ID, rec.Content.Ask, rec.Content.Flight}
}

// The statuses of a drone.
const (
	statusFree = "free"
	statusBusy = "busy"
)

// DroneView is a drone as the contract shows it.
type DroneView struct {
	ID     string `json:"id"`
	Zone   string `json:"zone"`
	Status string `json:"status"` // free or busy
	// TransactionID and BusyUntil are of the present holder.
	TransactionID string    `json:"transactionId,omitempty"`
	BusyUntil     time.Time `json:"busyUntil,omitzero"`
	// Holds are the present one and those that are to come, in their order.
	Holds []HoldView `json:"holds"`
}

// HoldView is a hold as the contract shows it.
type HoldView struct {
	TransactionID string    `json:"transactionId"`
	From          time.Time `json:"from"`
	Until         time.Time `json:"until"`
}

// AssignmentEndpoints are those of the function DroneDeliveries: PUT {pickup, dropOff,
// pickupTime?, packageDetail, expedited} answers 201, 200 for a change or a repeat, 409
// or 410 by the rules of package record, 409 for a change after the pickup, 422
// too-heavy, 429 no-drone-free; GET 200 or 404; DELETE 204, or 409 cannot-be-undone
// from the pickup on.
func (s *Service) AssignmentEndpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "dronedeliveries/{id}", Handle: record.AnswerGet(s.Get, show)},
		{Method: http.MethodPut, Path: "dronedeliveries/{id}", Handle: record.AnswerPut(http.StatusOK, body.ask, s.Put, show)},
		{Method: http.MethodDelete, Path: "dronedeliveries/{id}", Handle: record.AnswerDelete(s.Delete)},
	}
}

// DroneEndpoints are those of the function Drones: a page of a zone's drones; a drone.
func (s *Service) DroneEndpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "drones", Handle: s.listDrones},
		{Method: http.MethodGet, Path: "drones/{id}", Handle: record.AnswerGet(s.Drone, s.showDrone)},
	}
}

// body is an Ask as it arrives: what is missing is nil.
type body struct {
	Pickup        *value.LocationBody `json:"pickup"`
	DropOff       *value.LocationBody `json:"dropOff"`
	PickupTime    *string             `json:"pickupTime"`
	PackageDetail *packageBody        `json:"packageDetail"`
	Expedited     bool                `json:"expedited"`
}

type packageBody struct {
	ID       *string  `json:"id"`
	Size     *string  `json:"size"`
	WeightKg *float64 `json:"weightKg"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{
		Pickup:    b.Pickup.Location(&faults, "/pickup"),
		DropOff:   b.DropOff.Location(&faults, "/dropOff"),
		Expedited: b.Expedited,
	}
	if b.PickupTime != nil {
		ask.PickupTime = faults.Time("/pickupTime", b.PickupTime)
	}
	if p := b.PackageDetail; p == nil {
		faults.Add("/packageDetail", "is required")
	} else {
		ask.PackageDetail = PackageDetail{
			ID:       faults.ID("/packageDetail/id", p.ID),
			Size:     faults.OneOf("/packageDetail/size", p.Size, value.Sizes, ""),
			WeightKg: faults.Positive("/packageDetail/weightKg", p.WeightKg),
		}
	}
	return ask, faults.Err()
}

func (s *Service) listDrones(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	zone := query.Get("zone")
	if zone == "" {
		return problem.New(problem.Invalid, "query parameter zone is required: %s to %s",
			zoneName(0), zoneName(s.cfg.Zones-1))
	}
	drones, next, err := s.Drones(r.Context(), zone, query.Get("continuation"))
	if err != nil {
		return err
	}
	return record.WritePage(w, drones, next, s.showDrone)
}

func (s *Service) showDrone(d Drone) DroneView {
	now := s.now()
	view := DroneView{ID: d.ID, Zone: d.Zone, Status: statusFree, Holds: []HoldView{}}
	if h, held := d.HeldAt(now); held {
		view.Status, view.TransactionID, view.BusyUntil = statusBusy, h.TransactionID, time.UnixMilli(h.Until).UTC()
	}
	for _, h := range d.Holds {
		if h.Until > now.UnixMilli() {
			view.Holds = append(view.Holds, HoldView{h.TransactionID, time.UnixMilli(h.From).UTC(), time.UnixMilli(h.Until).UTC()})
		}
	}
	return view
}
