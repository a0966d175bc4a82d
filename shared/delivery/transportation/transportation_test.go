package transportation

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func newService() *Service {
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	return New(record.Keeper[Booking]{Store: &recordtest.Memory[record.Record[Booking]]{}, Now: func() time.Time { return now }}, 40)
}

func TestContract(t *testing.T) {
	const (
		path = "/thirdpartydeliveries/t"
		near = `{"pickup":{"latitude":0,"longitude":0},"dropOff":{"latitude":0.3,"longitude":0}}`
		far  = `{"pickup":{"latitude":0,"longitude":0},"dropOff":{"latitude":3,"longitude":0}}`
	)
	recordtest.Contract(t, newService().Endpoints(), []recordtest.Call{
		{Name: "unknown", Method: "GET", Path: path, Status: 404, Answer: "not-found"},
		{Name: "book", Method: "PUT", Path: path, Transaction: "t", Body: far, Status: 201,
			Answer: `{"id":"t","required":true,"carrier":"Contoso Freight","dropOff":{"latitude":3}}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Body: far, Status: 204, Unchanged: true},
		{Name: "other content", Method: "PUT", Path: path, Transaction: "t", Body: near, Status: 409, Answer: "other-content"},
		{Name: "another", Method: "PUT", Path: path, Transaction: "u", Body: far, Status: 409, Answer: "owned-by-another"},
		{Name: "release", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: near, Status: 200, Answer: `{"required":false}`},
		{Name: "stale", Method: "PUT", Path: path, Transaction: "t", Revision: "1", Body: far, Status: 409, Answer: "stale-revision"},
		{Name: "get", Method: "GET", Path: path, Status: 200, Answer: `{"id":"t","required":false}`},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204, Unchanged: true},
		{Name: "late put", Method: "PUT", Path: path, Transaction: "t", Revision: "3", Body: far, Status: 410, Answer: "gone"},
		{Name: "no transaction", Method: "PUT", Path: path, Body: far, Status: 400, Answer: "invalid"},
		{Name: "delete, no transaction", Method: "DELETE", Path: path, Status: 400},
		{Name: "bad body", Method: "PUT", Path: path, Transaction: "t", Body: `{"pickup":{"latitude":91,"longitude":0}}`, Status: 400},
	})
}

func TestABookingFollowsTheDistance(t *testing.T) {
	s := newService()
	put := func(revision int, latitude float64) Booking {
		t.Helper()
		rec, _, err := s.Put(t.Context(), "t", record.By{TransactionID: "t", Revision: revision},
			Ask{DropOff: value.Location{Latitude: latitude}})
		if err != nil {
			t.Fatal(err)
		}
		if b := rec.Content; b.Required != (b.BookingID != "") || b.Required != (b.Carrier != "") {
			t.Errorf("%+v contradicts itself", b)
		}
		return rec.Content
	}
	first := put(1, 1)
	if !first.Required || first.DistanceKm < 111 || first.DistanceKm > 112 {
		t.Errorf("got %+v", first)
	}
	if kept := put(2, 2); kept.BookingID != first.BookingID {
		t.Error("a booking that stays needed got another id")
	}
	if again := put(2, 2); again.BookingID != first.BookingID {
		t.Error("a repeat got another booking")
	}
	if near := put(3, 0.35); near.Required { // 38.9 km
		t.Errorf("got %+v", near)
	}
	if next := put(4, 0.37); !next.Required || next.BookingID == first.BookingID { // 41.1 km
		t.Errorf("got %+v", next)
	}
}
