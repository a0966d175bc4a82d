package delivery

import (
	"fmt"

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
			return endpoints{account.New(records[account.Account](env, AccountsContainer), env.Now).Endpoints()}, nil
		},
	}, {
		Name:       StepPackage,
		Functions:  []business.Function{{Name: "Packages", Route: "packages/{*path}"}},
		Containers: []business.Container{record.Container(PackagesContainer, record.AccountField)},
		Open: func(env business.Env) (endpoints, error) {
			// A package and a booking tell no pickup time: they are needed as long as one
			// may be, of a transaction that takes its time.
			cfg := parcel.Config{Retention: env.Keep, Ahead: env.Settings.Span(pickupHorizon) + env.CompleteBy}
			return endpoints{parcel.New(cfg, records[record.Record[parcel.Content]](env, PackagesContainer), env.Now).Endpoints()}, nil
		},
	}, {
		Name:       StepTransportation,
		Functions:  []business.Function{{Name: "ThirdPartyDeliveries", Route: "thirdpartydeliveries/{id}"}},
		Containers: []business.Container{record.Container(BookingsContainer)},
		Open: func(env business.Env) (endpoints, error) {
			cfg := transportation.Defaults()
			cfg.DroneReachKm, cfg.Retention = env.Settings.Decimal(carrierDistance), env.Keep
			cfg.Ahead = env.Settings.Span(pickupHorizon) + env.CompleteBy
			return endpoints{transportation.New(cfg, records[record.Record[transportation.Booking]](env, BookingsContainer), env.Now).Endpoints()}, nil
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
			cfg := deliveries.Config{Retention: env.Keep}
			return endpoints{deliveries.New(cfg, records[record.Record[deliveries.Content]](env, DeliveriesContainer), env.Now).Endpoints()}, nil
		},
	}}
}

func openDrones(env business.Env) (endpoints, error) {
	fleet, v := drone.Defaults(), env.Settings
	fleet.ExpeditedSpeedKmh *= v.Decimal(fleetSpeed) / fleet.SpeedKmh
	fleet.Drones, fleet.Zones, fleet.SpeedKmh = v.Whole(fleetDrones), v.Whole(fleetZones), v.Decimal(fleetSpeed)
	fleet.CapacityKg, fleet.TimeScale, fleet.Retention = v.Decimal(fleetCapacity), v.Decimal(flightTimeScale), env.Keep
	s, err := drone.New(fleet, records[record.Record[drone.Assignment]](env, AssignmentsContainer), drone.Over(env.Documents(DronesContainer)), env.Now)
	if err != nil {
		return nil, fmt.Errorf("drones: %w", err)
	}
	return endpoints{s.AssignmentEndpoints(), s.DroneEndpoints()}, nil
}

// records returns the store of a container of records.
func records[T any](env business.Env, container string) record.Store[T] {
	return record.Over[T](env.Documents(container))
}
