package invariant

import (
	"encoding/json"
	"testing"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// scene is a snapshot of the delivery business, with its records as they are in Go:
// so that tests can change them.
type scene struct {
	Snapshot
	Accounts    []account.Account
	Packages    []record.Record[parcel.Content]
	Bookings    []record.Record[transportation.Booking]
	Assignments []record.Record[drone.Assignment]
	Drones      []drone.Drone
	Deliveries  []record.Record[deliveries.Content]
	// spoil, if it is not nil, makes wrong what has no form in Go.
	spoil func(*Snapshot)
}

// theSubject is the delivery business.
var theSubject = func() *Subject {
	s, err := NewSubject(chosen.Business(), chosentrial.Trial())
	if err != nil {
		panic(err)
	}
	return s
}()

// check judges a scene.
func check(s scene) Report { return theSubject.Check(s.snapshot()) }

// judge runs one rule of every business on a scene.
func judge(s scene, rule func(*index, *trial.Findings)) trial.Findings {
	var f trial.Findings
	rule(newIndex(theSubject, new(s.snapshot())), &f)
	return f
}

// snapshot returns the scene as it is collected.
func (s scene) snapshot() Snapshot {
	s.Records = map[string][]record.Record[json.RawMessage]{
		delivery.PackagesContainer: raw(s.Packages), delivery.BookingsContainer: raw(s.Bookings),
		delivery.AssignmentsContainer: raw(s.Assignments), delivery.DeliveriesContainer: raw(s.Deliveries),
	}
	s.Others = map[string][]json.RawMessage{
		delivery.AccountsContainer: encoded(s.Accounts), delivery.DronesContainer: encoded(s.Drones),
	}
	if s.spoil != nil {
		s.spoil(&s.Snapshot)
	}
	return s.Snapshot
}

func encoded[T any](all []T) []json.RawMessage {
	docs := make([]json.RawMessage, len(all))
	for i := range all {
		var err error
		if docs[i], err = json.Marshal(&all[i]); err != nil {
			panic(err)
		}
	}
	return docs
}

func raw[T any](all []record.Record[T]) []record.Record[json.RawMessage] {
	records := make([]record.Record[json.RawMessage], len(all))
	for i, doc := range encoded(all) {
		if err := json.Unmarshal(doc, &records[i]); err != nil {
			panic(err)
		}
	}
	return records
}

// sceneOf is the other way round.
func sceneOf(t testing.TB, s Snapshot) scene {
	t.Helper()
	return scene{
		Snapshot: s, Accounts: othersIn[account.Account](t, s, delivery.AccountsContainer), Drones: othersIn[drone.Drone](t, s, delivery.DronesContainer),
		Packages: recordsIn[parcel.Content](t, s, delivery.PackagesContainer), Bookings: recordsIn[transportation.Booking](t, s, delivery.BookingsContainer),
		Assignments: recordsIn[drone.Assignment](t, s, delivery.AssignmentsContainer), Deliveries: recordsIn[deliveries.Content](t, s, delivery.DeliveriesContainer),
	}
}

func othersIn[T any](t testing.TB, s Snapshot, container string) []T {
	t.Helper()
	all, err := trial.Others[T](&s.Stored, container)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func recordsIn[T any](t testing.TB, s Snapshot, container string) []record.Record[T] {
	t.Helper()
	all := make([]record.Record[T], len(s.Records[container]))
	for i, doc := range encoded(s.Records[container]) {
		if err := json.Unmarshal(doc, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
