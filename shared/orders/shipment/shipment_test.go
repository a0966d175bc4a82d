package shipment

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestContract(t *testing.T) {
	k := record.Keeper[Ask]{Store: &recordtest.Memory[record.Record[Ask]]{}, Now: time.Now}
	const toFrance = `{"item":"i","quantity":2,"address":"1 Rue A","country":"FR"}`
	recordtest.Contract(t, Endpoints(k, []string{"DE", "FR"}), []recordtest.Call{
		{Name: "not served", Method: "PUT", Path: "/shipments/t", Transaction: "t",
			Body: `{"item":"i","quantity":2,"address":"x","country":"AQ"}`, Status: 422, Answer: "not-served"},
		{Name: "ship", Method: "PUT", Path: "/shipments/t", Transaction: "t", Body: toFrance, Status: 201, Answer: `{"country":"FR"}`},
		{Name: "repeat", Method: "PUT", Path: "/shipments/t", Transaction: "t", Body: toFrance, Status: 200, Unchanged: true},
		{Name: "get", Method: "GET", Path: "/shipments/t", Status: 200, Answer: `{"quantity":2}`},
		{Name: "undo", Method: "DELETE", Path: "/shipments/t", Transaction: "t", Status: 204},
		{Name: "late", Method: "PUT", Path: "/shipments/t", Transaction: "t", Body: toFrance, Status: 410, Answer: "gone"},
	})
}
