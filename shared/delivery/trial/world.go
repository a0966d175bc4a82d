package trial

import (
	"errors"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// world is what is stored, as the rules look at it.
type world struct {
	now          time.Time
	transactions map[string]*workflow.Progress
	accounts     map[string]*account.Account
	packages     map[string]*record.Record[parcel.Content]
	bookings     map[string]*record.Record[transportation.Booking]
	assignments  map[string]*record.Record[drone.Assignment]
	deliveries   map[string]*record.Record[deliveries.Content]
	fleet        []drone.Drone
	drones       map[drone.Candidate]*drone.Drone
}

// rules returns the rules over what is stored.
func rules(s *trial.Stored) ([]trial.Rule, error) {
	w, err := read(s)
	return []trial.Rule{
		{Name: "customers", Promise: "what was completed was asked for by a customer who was active", Check: w.checkCustomers},
		{Name: "carrier", Promise: "a carrier is booked if, and only if, the distance asks for one", Check: w.checkCarriers},
		{Name: "confirmed", Promise: "Completed has a drone that was confirmed", Check: w.checkConfirmed},
		{Name: "schedule", Promise: "a delivery has the drone and the times of its assignment", Check: w.checkSchedules},
		{Name: "flights", Promise: "no drone is held for two at a time", Check: w.checkFlights},
		{Name: "packages", Promise: "no package has two drones that fly for it", Check: w.checkPackages},
		{Name: "grounded", Promise: "nothing flies for what was undone", Check: w.checkGrounded},
		{Name: "drones", Promise: "a drone is held for the assignment that names it, and for nobody else", Check: w.checkDrones},
	}, err
}

func read(s *trial.Stored) (*world, error) {
	w := &world{now: s.Now, transactions: byKey(s.Transactions, func(p *workflow.Progress) string { return p.ID })}
	var err error
	keep := func(e error) { err = errors.Join(err, e) }
	accounts, e := trial.Others[account.Account](s, delivery.AccountsContainer)
	keep(e)
	w.accounts = byKey(accounts, func(a *account.Account) string { return a.ID })
	w.fleet, e = trial.Others[drone.Drone](s, delivery.DronesContainer)
	keep(e)
	w.drones = byKey(w.fleet, func(d *drone.Drone) drone.Candidate { return drone.Candidate{DroneID: d.ID, Zone: d.Zone} })
	w.packages, e = trial.Records[parcel.Content](s, delivery.PackagesContainer)
	keep(e)
	w.bookings, e = trial.Records[transportation.Booking](s, delivery.BookingsContainer)
	keep(e)
	w.assignments, e = trial.Records[drone.Assignment](s, delivery.AssignmentsContainer)
	keep(e)
	w.deliveries, e = trial.Records[deliveries.Content](s, delivery.DeliveriesContainer)
	keep(e)
	return w, err
}

func byKey[K comparable, V any](all []V, key func(*V) K) map[K]*V {
	found := make(map[K]*V, len(all))
	for i := range all {
		found[key(&all[i])] = &all[i]
	}
	return found
}

// completed calls visit for each transaction that is Completed.
func (w *world) completed(visit func(*workflow.Progress)) {
	for _, p := range trial.Sorted(w.transactions) {
		if p.State == workflow.Completed {
			visit(p)
		}
	}
}

// stamp writes an instant for people, day with its day.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func milli(unix int64) string { return stamp(time.UnixMilli(unix)) }

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }
