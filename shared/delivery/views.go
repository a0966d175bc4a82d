package delivery

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// views are the parts of the delivery's record that its client may reach: where it
// is, the receiver's confirmation, and the wish to be told of the arrival.
func views() []business.View {
	view := func(method, part string) business.View {
		return business.View{Method: method, Part: part, Call: func(transactionID string, body json.RawMessage) workflow.Call {
			return workflow.Call{
				Backend: StepDelivery, Method: method, Path: "deliveries/" + url.PathEscape(transactionID) + "/" + part, Body: body,
			}
		}}
	}
	return []business.View{
		view(http.MethodGet, "status"), view(http.MethodGet, "events"), view(http.MethodPost, "confirmations"),
		view(http.MethodPost, "notifymerequests"),
	}
}
