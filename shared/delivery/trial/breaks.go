package trial

import (
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// breaks make one thing wrong for each of the rules.
var breaks = []trial.Break{
	{Rule: "customers", What: "account", Do: func(s *trial.Stored) string {
		live := anyRecord(s, delivery.DeliveriesContainer, func(r *record.Record[deliveries.Content]) bool { return r.Live() })
		if live == nil {
			return ""
		}
		kept := s.Others[delivery.AccountsContainer][:0]
		for _, doc := range s.Others[delivery.AccountsContainer] {
			var a account.Account
			if json.Unmarshal(doc, &a) == nil && a.ID != live.Content.OwnerID {
				kept = append(kept, doc)
			}
		}
		s.Others[delivery.AccountsContainer] = kept
		return live.ID
	}},
	{Rule: "carrier", What: "carrier", Do: func(s *trial.Stored) string {
		live := anyRecord(s, delivery.BookingsContainer, func(r *record.Record[transportation.Booking]) bool { return r.Live() })
		return edit(s, delivery.BookingsContainer, live, func(b *transportation.Booking) { b.Required = !b.Required })
	}},
	{Rule: "confirmed", What: "half done", Do: func(s *trial.Stored) string {
		return edit(s, delivery.AssignmentsContainer, completed(s), func(a *drone.Assignment) { a.Candidate = &drone.Candidate{DroneID: "d"} })
	}},
	{Rule: "schedule", What: "other drone", Do: func(s *trial.Stored) string {
		return edit(s, delivery.AssignmentsContainer, completed(s), func(a *drone.Assignment) { a.DroneID += "-other" })
	}},
	{Rule: "flights", What: "two at a time", Do: func(s *trial.Stored) string {
		first := completed(s)
		second := anyRecord(s, delivery.AssignmentsContainer, func(r *record.Record[drone.Assignment]) bool {
			return r.Live() && first != nil && r.ID > first.ID && r.Content.DroneID != ""
		})
		return edit(s, delivery.AssignmentsContainer, second, func(a *drone.Assignment) { a.Flight = first.Content.Flight })
	}},
	{Rule: "packages", What: "two drones", Do: func(s *trial.Stored) string {
		first := completed(s)
		second := anyRecord(s, delivery.AssignmentsContainer, func(r *record.Record[drone.Assignment]) bool {
			return r.Live() && first != nil && r.Content.DroneID != "" && r.Since().After(first.Since())
		})
		return edit(s, delivery.AssignmentsContainer, second, func(a *drone.Assignment) { a.PackageDetail.ID = first.Content.PackageDetail.ID })
	}},
	{Rule: "grounded", What: "undone in the air", Do: func(s *trial.Stored) string {
		undone := anyRecord(s, delivery.AssignmentsContainer, func(r *record.Record[drone.Assignment]) bool { return !r.Live() && r.Content.DroneID != "" })
		return edit(s, delivery.AssignmentsContainer, undone, func(a *drone.Assignment) { a.PickedUp = true })
	}},
	{Rule: "drones", What: "held for nobody", Do: func(s *trial.Stored) string {
		for i, doc := range s.Others[delivery.DronesContainer] {
			var d drone.Drone
			if json.Unmarshal(doc, &d) != nil {
				continue
			}
			until := max(d.BusyUntil, s.Now.Add(time.Hour).UnixMilli())
			d.Holds = append(d.Holds, drone.Hold{TransactionID: "nobody", Window: drone.Window{From: until, Until: until + 1}})
			d.BusyUntil = until + 1
			s.Others[delivery.DronesContainer][i], _ = json.Marshal(d) // it was read from JSON
			return "nobody"
		}
		return ""
	}},
}

// anyRecord returns a record of a container for which is is true, the first by id;
// nil if there is none.
func anyRecord[T any](s *trial.Stored, container string, is func(*record.Record[T]) bool) *record.Record[T] {
	all, err := trial.Records[T](s, container)
	if err != nil {
		return nil
	}
	for _, r := range trial.Sorted(all) {
		if is(r) {
			return r
		}
	}
	return nil
}

// completed returns an assignment with a delivery, nil if there is none.
func completed(s *trial.Stored) *record.Record[drone.Assignment] {
	live := map[string]bool{}
	for _, p := range s.Transactions {
		live[p.ID] = p.State == "Completed" && p.Reason == ""
	}
	return anyRecord(s, delivery.AssignmentsContainer, func(r *record.Record[drone.Assignment]) bool { return live[r.ID] })
}

// edit changes the content of a record and returns its id, "" for no record.
func edit[T any](s *trial.Stored, container string, r *record.Record[T], change func(*T)) string {
	if r == nil {
		return ""
	}
	change(&r.Content)
	for i := range s.Records[container] {
		if s.Records[container][i].ID == r.ID {
			s.Records[container][i].Content, _ = json.Marshal(r.Content) // it was read from JSON
		}
	}
	return r.ID
}
