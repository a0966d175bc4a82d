package delivery

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Tracking is a part of the Delivery backend's record that the client of the
// transaction may reach, through the app that accepted it.
type Tracking struct {
	Method string
	Part   string // the last segment of its path
}

// Trackings returns all of them.
func Trackings() []Tracking {
	return []Tracking{
		{http.MethodGet, "status"},
		{http.MethodGet, "events"},
		{http.MethodPost, "confirmations"},
	}
}

// Call is the call to the backend. body is that of a POST.
func (t Tracking) Call(transactionID string, body json.RawMessage) workflow.Call {
	return workflow.Call{
		Backend: StepDelivery, Method: t.Method,
		Path: "deliveries/" + url.PathEscape(transactionID) + "/" + t.Part, Body: body,
	}
}
