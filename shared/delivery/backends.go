package delivery

import (
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// endpoints are those of a backend's functions, in their order.
type endpoints = [][]business.Endpoint

func backends() []business.Backend {
	return []business.Backend{{
		Name:       StepAccount,
		Functions:  []business.Function{{Name: "Accounts", Route: "account/{id}"}},
		Containers: []business.Container{{Name: AccountsContainer, PartitionKey: "/id"}},
		Open: func(env business.Env) (endpoints, error) {
			return endpoints{account.New(record.Over[account.Account](env.Documents(AccountsContainer)), env.Now).Endpoints()}, nil
		},
	}, {
		Name:       StepPackage,
		Functions:  []business.Function{{Name: "Packages", Route: "packages/{*path}"}},
		Containers: []business.Container{record.Container(PackagesContainer, record.AccountField)},
		Open: func(env business.Env) (endpoints, error) {
			return endpoints{parcel.New(planned[parcel.Content](env, PackagesContainer)).Endpoints()}, nil
		},
	}, {
		Name:       StepTransportation,
		Functions:  []business.Function{{Name: "ThirdPartyDeliveries", Route: "thirdpartydeliveries/{id}"}},
		Containers: []business.Container{record.Container(BookingsContainer)},
		Open: func(env business.Env) (endpoints, error) {
			bookings := planned[transportation.Booking](env, BookingsContainer)
			return endpoints{transportation.New(bookings, env.Settings.Decimal(carrierDistance)).Endpoints()}, nil
		},
	}, {
		Name: StepDrone,
		Functions: []business.Function{
			{Name: "DroneDeliveries", Route: "dronedeliveries/{id}"},
			{Name: "Drones", Route: "drones/{id?}", Operators: true},
		},
		Containers: []business.Container{
			record.Container(AssignmentsContainer),
			{Name: DronesContainer, PartitionKey: "/zone", Indexed: []string{"busyUntil", "gap"}},
		},
		Open: openDrones,
	}, {
		Name:       StepDelivery,
		Functions:  []business.Function{{Name: "Deliveries", Route: "deliveries/{*path}"}},
		Containers: []business.Container{record.Container(DeliveriesContainer, record.AccountField)},
		Open: func(env business.Env) (endpoints, error) {
			return endpoints{deliveries.New(record.KeeperOf[deliveries.Content](env, DeliveriesContainer)).Endpoints()}, nil
		},
	}}
}

func openDrones(env business.Env) (endpoints, error) {
	fleet, v := drone.Defaults(), env.Settings
	fleet.ExpeditedSpeedKmh *= v.Decimal(fleetSpeed) / fleet.SpeedKmh
	fleet.Drones, fleet.Zones, fleet.SpeedKmh = v.Whole(fleetDrones), v.Whole(fleetZones), v.Decimal(fleetSpeed)
	fleet.CapacityKg, fleet.TimeScale, fleet.Retention = v.Decimal(fleetCapacity), v.Decimal(flightTimeScale), env.Keep
	assignments := record.Over[record.Record[drone.Assignment]](env.Documents(AssignmentsContainer))
	s := drone.New(fleet, assignments, drone.Over(env.Documents(DronesContainer)), env.Now)
	return endpoints{s.AssignmentEndpoints(), s.DroneEndpoints()}, nil
}

// planned returns a keeper of effects that tell no pickup time: they are needed as long
// as one may be, of a transaction that takes its time.
func planned[T any](env business.Env, container string) record.Keeper[T] {
	k := record.KeeperOf[T](env, container)
	k.Needed = record.For[T](env.Settings.Span(pickupHorizon) + env.CompleteBy)
	return k
}
