package deliveries

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

var start = time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)

func newService(now *time.Time) *Service {
	return New(record.Keeper[Content]{Store: &recordtest.Memory[record.Record[Content]]{}, Now: func() time.Time { return *now }})
}

// ask leaves after 10 minutes, is at the pickup after 20 and arrives after 40.
func ask() Ask {
	return Ask{
		OwnerID: "o", PackageID: "p", Pickup: value.Location{Latitude: 1}, DropOff: value.Location{Latitude: 2, Longitude: 4},
		PickupTime: start, DeliverBy: start.Add(time.Hour), ConfirmationRequired: "Voice", DroneID: "d",
		DepartAt: start.Add(10 * time.Minute), PickupAt: start.Add(20 * time.Minute), ArriveAt: start.Add(40 * time.Minute),
	}
}

func by(revision int) record.By { return record.By{TransactionID: "t", Revision: revision} }

func TestContract(t *testing.T) {
	now := start
	const (
		path  = "/deliveries/t"
		rest  = `"ownerId":"o","packageId":"p","pickup":{"latitude":1,"longitude":0},"dropOff":{"latitude":2,"longitude":4},"pickupTime":"2026-01-31T16:00:00Z","deliverBy":"2026-01-31T17:00:00Z","droneId":"d","departAt":"2026-01-31T16:10:00Z","pickupAt":"2026-01-31T16:20:00Z","arriveAt":"2026-01-31T16:40:00Z"`
		body  = `{` + rest + `}`
		voice = `{` + rest + `,"confirmationRequired":"Voice"}`
		word  = `{"confirmationType":"Voice","geoCoordinates":{"latitude":2,"longitude":4},"confirmationBlob":"aGk="}`
	)
	s := newService(&now)
	recordtest.Contract(t, s.Endpoints(), []recordtest.Call{
		{Name: "unknown", Method: "GET", Path: path, Status: 404, Answer: "not-found"},
		{Name: "unknown status", Method: "GET", Path: path + "/status", Status: 404},
		{Name: "create", Method: "PUT", Path: path, Transaction: "t", Body: body, Status: 201,
			Answer: `{"id":"t","ownerId":"o","droneId":"d","pickupAt":"2026-01-31T16:20:00Z","confirmationRequired":"None"}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Body: body, Status: 200, Answer: `{"pickupAt":"2026-01-31T16:20:00Z"}`, Unchanged: true},
		{Name: "other content", Method: "PUT", Path: path, Transaction: "t", Body: voice, Status: 409, Answer: "other-content"},
		{Name: "another", Method: "PUT", Path: path, Transaction: "u", Body: body, Status: 409, Answer: "owned-by-another"},
		{Name: "confirm what asks for none", Method: "POST", Path: path + "/confirmations", Body: word, Status: 409, Answer: "not-confirmable"},
		{Name: "change", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: voice, Status: 200},
		{Name: "stale", Method: "PUT", Path: path, Transaction: "t", Revision: "1", Body: body, Status: 409, Answer: "stale-revision"},
		{Name: "status", Method: "GET", Path: path + "/status", Status: 200,
			Answer: `{"stage":"Created","pickupETA":"2026-01-31T16:20:00Z","deliveryETA":"2026-01-31T16:40:00Z","onTime":true}`},
		{Name: "events", Method: "GET", Path: path + "/events", Status: 200, Answer: `{"items":[{"stage":"Created"},{"stage":"Rescheduled"}]}`},
		{Name: "owner", Method: "GET", Path: path + "/owner", Status: 200, Answer: `{"ownerId":"o"}`},
		{Name: "list", Method: "GET", Path: "/deliveries?ownerId=o&continuation=0", Status: 200, Answer: `{"items":[{"id":"t"}]}`},
		{Name: "list of nobody", Method: "GET", Path: "/deliveries", Status: 400},
		{Name: "confirm too early", Method: "POST", Path: path + "/confirmations", Body: word, Status: 409, Answer: "not-confirmable"},
		{Name: "notify", Method: "POST", Path: path + "/notifymerequests", Body: `{"emailAddress":"a@example.com"}`, Status: 204},
		{Name: "notify a name", Method: "POST", Path: path + "/notifymerequests", Body: `{"emailAddress":"Ada <a@example.com>"}`, Status: 400, Answer: "invalid"},
		{Name: "notify two lines", Method: "POST", Path: path + "/notifymerequests", Body: `{"emailAddress":"a@example.com\r\nBcc: b@example.com"}`, Status: 400, Answer: "invalid"},
		{Name: "wishes", Method: "GET", Path: path + "/notifymerequests", Status: 200,
			Answer: `{"packageId":"p","cancelled":false,"arriveAt":"2026-01-31T16:40:00Z","items":[{"emailAddress":"a@example.com"}]}`},
		{Name: "wishes of nothing", Method: "GET", Path: "/deliveries/x/notifymerequests", Status: 404},
		{Name: "notify nobody", Method: "POST", Path: path + "/notifymerequests", Body: `{}`, Status: 400, Answer: "invalid"},
		{Name: "notify, unknown delivery", Method: "POST", Path: "/deliveries/x/notifymerequests", Body: `{"sms":"1"}`, Status: 404},
		{Name: "get", Method: "GET", Path: path, Status: 200, Answer: `{"id":"t","notices":[{"emailAddress":"a@example.com"}]}`},
		{Name: "no transaction", Method: "PUT", Path: path, Body: body, Status: 400, Answer: "invalid"},
		{Name: "delete, no transaction", Method: "DELETE", Path: path, Status: 400},
		{Name: "bad body", Method: "PUT", Path: path, Transaction: "t", Body: `{"droneId":"d"}`, Status: 400, Answer: "invalid"},
		{Name: "bad order", Method: "PUT", Path: path, Transaction: "t",
			Body: strings.Replace(body, "16:20", "16:50", 1), Status: 400, Answer: `invalid`},
	})
	now = start.Add(time.Hour)
	recordtest.Contract(t, s.Endpoints(), []recordtest.Call{
		{Name: "other confirmation", Method: "POST", Path: path + "/confirmations",
			Body: strings.Replace(word, "Voice", "Picture", 1), Status: 409, Answer: "not-confirmable"},
		{Name: "bad confirmation", Method: "POST", Path: path + "/confirmations", Body: `{"confirmationType":"Voice"}`, Status: 400},
		{Name: "notify of what has arrived", Method: "POST", Path: path + "/notifymerequests", Body: `{"sms":"1"}`, Status: 409, Answer: "arrived"},
		{Name: "confirm", Method: "POST", Path: path + "/confirmations", Body: word, Status: 204},
		{Name: "confirm again", Method: "POST", Path: path + "/confirmations", Body: word, Status: 204},
		{Name: "confirmed", Method: "GET", Path: path, Status: 200, Answer: `{"confirmations":[{"confirmationType":"Voice","confirmationBlob":"aGk="}]}`},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204, Unchanged: true},
		{Name: "gone", Method: "GET", Path: path, Status: 404},
		{Name: "owner of what is gone", Method: "GET", Path: path + "/owner", Status: 404},
		{Name: "status of what is gone", Method: "GET", Path: path + "/status", Status: 200, Answer: `{"stage":"Cancelled"}`},
		{Name: "wishes of what is gone", Method: "GET", Path: path + "/notifymerequests", Status: 200, Answer: `{"cancelled":true,"items":[{"emailAddress":"a@example.com"}]}`},
		{Name: "late put", Method: "PUT", Path: path, Transaction: "t", Revision: "3", Body: body, Status: 410, Answer: "gone"},
		{Name: "delete of what never was", Method: "DELETE", Path: "/deliveries/v", Transaction: "v", Status: 204},
		{Name: "put of it", Method: "PUT", Path: "/deliveries/v", Transaction: "v", Body: body, Status: 410},
		{Name: "wishes of it", Method: "GET", Path: "/deliveries/v/notifymerequests", Status: 404},
		{Name: "status of it", Method: "GET", Path: "/deliveries/v/status", Status: 404},
	})
}

func TestStatusFollowsTheClock(t *testing.T) {
	middle := value.Location{Latitude: 1.5, Longitude: 2}
	tests := []struct {
		after    time.Duration
		stage    Stage
		location *value.Location
	}{
		{0, Created, nil},
		{10*time.Minute - 1, Created, nil},
		{10 * time.Minute, HeadedToPickup, nil},
		{20*time.Minute - 1, HeadedToPickup, nil},
		{20 * time.Minute, HeadedToDropoff, &value.Location{Latitude: 1}},
		{30 * time.Minute, HeadedToDropoff, &middle},
		{40 * time.Minute, Completed, &value.Location{Latitude: 2, Longitude: 4}},
		{1000 * time.Hour, Completed, &value.Location{Latitude: 2, Longitude: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.after.String(), func(t *testing.T) {
			now := start
			s := newService(&now)
			if _, _, err := s.Put(t.Context(), "t", by(1), ask()); err != nil {
				t.Fatal(err)
			}
			now = start.Add(tt.after)
			got, err := s.Track(t.Context(), "t")
			want := Status{Stage: tt.stage, LastKnownLocation: tt.location, PickupETA: ask().PickupAt, DeliveryETA: ask().ArriveAt, OnTime: true}
			if diff := cmp.Diff(want, got.Status); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestEventsTellTheStory(t *testing.T) {
	now := start
	s := newService(&now)
	if _, _, err := s.Put(t.Context(), "t", by(1), ask()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(5 * time.Minute)
	late := ask()
	late.DeliverBy = start.Add(30 * time.Minute)
	if _, _, err := s.Put(t.Context(), "t", by(2), late); err != nil {
		t.Fatal(err)
	}
	now = start.Add(45 * time.Minute)
	if err := s.Confirm(t.Context(), "t", Confirmation{ConfirmationType: "Voice"}); err != nil {
		t.Fatal(err)
	}
	tracking, err := s.Track(t.Context(), "t")
	if err != nil || tracking.Status.OnTime {
		t.Errorf("%+v, %v", tracking.Status, err)
	}
	if got, want := story(tracking), "0 Created, 5 Rescheduled, 10 HeadedToPickup, 20 HeadedToDropoff, 40 Completed, 45 Confirmed"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestACancelledDeliveryEndsThere(t *testing.T) {
	now := start
	s := newService(&now)
	if _, _, err := s.Put(t.Context(), "t", by(1), ask()); err != nil {
		t.Fatal(err)
	}
	now = start.Add(15 * time.Minute)
	if err := s.Delete(t.Context(), "t", by(1)); err != nil {
		t.Fatal(err)
	}
	now = start.Add(time.Hour)
	tracking, err := s.Track(t.Context(), "t")
	if err != nil || tracking.Status != (Status{Stage: Cancelled}) {
		t.Errorf("%+v, %v", tracking.Status, err)
	}
	if got, want := story(tracking), "0 Created, 10 HeadedToPickup, 15 Cancelled"; got != want {
		t.Errorf("got %s", got)
	}
	for name, err := range map[string]error{
		"confirm": s.Confirm(t.Context(), "t", Confirmation{ConfirmationType: "Voice"}),
		"notify":  s.Notify(t.Context(), "t", Notice{SMS: "1"}),
	} {
		if !failure.Is(err, failure.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func story(tracking Tracking) string {
	var parts []string
	for _, e := range tracking.Events {
		parts = append(parts, fmt.Sprintf("%.0f %s", e.At.Sub(start).Minutes(), e.Stage))
	}
	return strings.Join(parts, ", ")
}

func TestAChangeKeepsWhatReceiversSent(t *testing.T) {
	now := start
	s := newService(&now)
	if _, _, err := s.Put(t.Context(), "t", by(1), ask()); err != nil {
		t.Fatal(err)
	}
	for i := range MaxNotices + 1 {
		err := s.Notify(t.Context(), "t", Notice{SMS: fmt.Sprint(i)})
		if (err != nil) != (i == MaxNotices) || err != nil && problem.From(err).Status != http.StatusConflict {
			t.Errorf("%d: %v", i, err)
		}
	}
	now = ask().ArriveAt
	for i := range MaxConfirmations + 1 {
		err := s.Confirm(t.Context(), "t", Confirmation{ConfirmationType: "Voice", ConfirmationBlob: fmt.Sprint(i)})
		if (err != nil) != (i == MaxConfirmations) || err != nil && problem.From(err).Status != http.StatusConflict {
			t.Errorf("%d: %v", i, err)
		}
	}
	rec, change, err := s.Put(t.Context(), "t", by(2), ask())
	if err != nil || change != record.Changed {
		t.Fatal(change, err)
	}
	if len(rec.Content.Confirmations) != MaxConfirmations || len(rec.Content.Notices) != MaxNotices || len(rec.Journal) != 2 {
		t.Errorf("got %+v, journal %+v", rec.Content, rec.Journal)
	}
}

// Ensure what receivers send does not fill the document, and that there is room
// for one confirmation of any kind, and for all of a usual one.
func TestConfirmationsAreBoundedByTheirBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		sign string
		want int
	}{"base64": {"A", 7}, "escaped": {"<", 1}, "four bytes each": {"\U0001F681", 1}} {
		t.Run(name, func(t *testing.T) {
			now := start
			var store recordtest.Memory[record.Record[Content]]
			s := New(record.Keeper[Content]{Store: &store, Now: func() time.Time { return now }})
			if _, _, err := s.Put(t.Context(), "t", by(1), ask()); err != nil {
				t.Fatal(err)
			}
			now = ask().ArriveAt
			kept := 0
			for n := range MaxConfirmations {
				blob := strings.Repeat(tt.sign, maxBlob-1) + fmt.Sprint(n)
				switch err := s.Confirm(t.Context(), "t", Confirmation{ConfirmationType: "Voice", ConfirmationBlob: blob}); {
				case err == nil:
					kept++
				case problem.From(err).Type != TooMany.ID:
					t.Fatal(err)
				}
			}
			rec, _, err := store.Read(t.Context(), "t")
			doc, err2 := json.Marshal(rec)
			if kept != tt.want || len(doc) > MaxConfirmationBytes+4<<10 || err != nil || err2 != nil {
				t.Errorf("%d of them in %d bytes, %v, %v", kept, len(doc), err, err2)
			}
		})
	}
}
