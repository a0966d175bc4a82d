package drone_test

import (
	"slices"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestContract(t *testing.T) {
	h := newHarness(t, 1, 1)
	s := h.service()
	const (
		path   = "/dronedeliveries/t"
		places = `"pickup":{"latitude":47.6,"longitude":-122.3},"dropOff":{"latitude":47.8,"longitude":-122.3}`
		body   = `{` + places + `,"packageDetail":{"id":"p","size":"Small","weightKg":2},"expedited":false}`
		wish   = `{` + places + `,"packageDetail":{"id":"p","size":"Small","weightKg":2},"pickupTime":"2026-02-01T10:00:00Z"}`
		heavy  = `{` + places + `,"packageDetail":{"id":"p","size":"Large","weightKg":21}}`
	)
	recordtest.Contract(t, slices.Concat(s.AssignmentEndpoints(), s.DroneEndpoints()), []recordtest.Call{
		{Name: "unknown", Method: "GET", Path: path, Status: 404, Answer: "not-found"},
		{Name: "assign", Method: "PUT", Path: path, Transaction: "t", Body: body, Status: 201,
			Answer: `{"id":"t","droneId":"zone-000-00000","zone":"zone-000","departAt":"2026-01-31T16:00:00Z","pickupAt":"2026-01-31T16:05:00Z"}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Body: body, Status: 200, Answer: `{"droneId":"zone-000-00000"}`, Unchanged: true},
		{Name: "drone in the air", Method: "GET", Path: "/drones/zone-000-00000", Status: 200,
			Answer: `{"status":"busy","transactionId":"t","busyUntil":"2026-01-31T16:27:14.341Z","holds":[{"transactionId":"t"}]}`},
		{Name: "none free", Method: "PUT", Path: "/dronedeliveries/u", Transaction: "u", Body: body, Status: 429,
			Answer: "no-drone-free", RetryAfter: "30"},
		{Name: "too heavy", Method: "PUT", Path: "/dronedeliveries/u", Transaction: "u", Body: heavy, Status: 422, Answer: "too-heavy"},
		{Name: "other content", Method: "PUT", Path: path, Transaction: "t", Body: wish, Status: 409, Answer: "other-content"},
		{Name: "another", Method: "PUT", Path: path, Transaction: "u", Body: body, Status: 409, Answer: "owned-by-another"},
		{Name: "change", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: wish, Status: 200,
			Answer: `{"droneId":"zone-000-00000","departAt":"2026-02-01T09:55:00Z","pickupAt":"2026-02-01T10:00:00Z"}`},
		{Name: "stale", Method: "PUT", Path: path, Transaction: "t", Revision: "1", Body: body, Status: 409, Answer: "stale-revision"},
		{Name: "get", Method: "GET", Path: path, Status: 200, Answer: `{"id":"t","packageDetail":{"id":"p"},"pickupTime":"2026-02-01T10:00:00Z"}`},
		{Name: "drone", Method: "GET", Path: "/drones/zone-000-00000", Status: 200,
			Answer: `{"id":"zone-000-00000","zone":"zone-000","status":"free","holds":[{"transactionId":"t","from":"2026-02-01T09:50:00Z"}]}`},
		{Name: "no drone", Method: "GET", Path: "/drones/zone-000-00001", Status: 404},
		{Name: "drones", Method: "GET", Path: "/drones?zone=zone-000&continuation=0", Status: 200,
			Answer: `{"items":[{"id":"zone-000-00000","status":"free","holds":[{"transactionId":"t"}]}]}`},
		{Name: "no zone", Method: "GET", Path: "/drones", Status: 400, Answer: "invalid"},
		{Name: "unknown zone", Method: "GET", Path: "/drones?zone=x", Status: 404},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204, Unchanged: true},
		{Name: "delete of what never was", Method: "DELETE", Path: "/dronedeliveries/v", Transaction: "v", Status: 204},
		{Name: "put of it", Method: "PUT", Path: "/dronedeliveries/v", Transaction: "v", Body: body, Status: 410, Answer: "gone"},
		{Name: "gone", Method: "GET", Path: path, Status: 404},
		{Name: "drone is free", Method: "GET", Path: "/drones/zone-000-00000", Status: 200, Answer: `{"status":"free","holds":[]}`},
		{Name: "no transaction", Method: "PUT", Path: path, Body: body, Status: 400, Answer: "invalid"},
		{Name: "delete, no transaction", Method: "DELETE", Path: path, Status: 400},
		{Name: "bad body", Method: "PUT", Path: path, Transaction: "t", Body: `{"expedited":1}`, Status: 400, Answer: "invalid"},
		{Name: "no package", Method: "PUT", Path: path, Transaction: "t", Body: `{` + places + `,"pickupTime":"x"}`, Status: 400, Answer: "invalid"},
	})
	h.check()
}
