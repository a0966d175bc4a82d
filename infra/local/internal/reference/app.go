package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/mux"
	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/eventhubs"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/mint"
	"github.com/fabrikam/drone-delivery/shared/progress"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/servicebus"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// app is the handler with everything behind it. It is safe for concurrent use.
type app struct {
	settings     settings.Settings
	attempts     int // of a call
	logger       *slog.Logger
	definition   workflow.Definition
	sending      errgroup.Group // events whose senders were answered
	producer     *eventhubs.Producer
	sender       *servicebus.Sender
	backends     *backendclient.Client
	queue        *azservicebus.Receiver
	db           *cosmosdb.Database
	transactions *cosmosdb.Transactions
	events       *customhandler.Events
	handler      http.Handler
	ids          *mint.Mint
	closers      []func(context.Context) error
}

// newApp opens the connections, which connect when they are first used, and puts
// everything together. Events are sent as long as ctx lasts.
func newApp(ctx context.Context, s settings.Settings, attempts int, logger *slog.Logger) (_ *app, err error) {
	a := &app{settings: s, attempts: attempts, logger: logger, definition: delivery.Steps()}
	a.sending.SetLimit(executor)
	a.events = customhandler.NewEvents(customhandler.EventConfig{
		Timeout: s.Budgets.Invocation, Grace: grace, MaxBody: 64 << 20, Concurrency: s.EventConcurrency, Logger: logger,
	})
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
		}
	}()
	if err := a.connect(); err != nil {
		return nil, err
	}
	keys, err := mint.ParseKeys(s.IDKeys.Reveal())
	if err != nil || len(keys) == 0 {
		return nil, fmt.Errorf("ID_KEYS: %w", mint.ErrKeys)
	}
	a.ids = mint.New(keys, time.Now, rand.Reader)
	router := mux.NewRouter()
	for name, fn := range map[string]customhandler.EventFunc{"Relay": a.relay, "Schedule": a.schedule} {
		router.Path("/" + name).Handler(a.events.Handler(name, fn))
	}
	api := mux.NewRouter()
	router.PathPrefix("/api").Handler(customhandler.Web("HTTP", "/api", nil, logger, http.StripPrefix("/api", api)))
	a.handler = router
	return a, a.addRoutes(ctx, api)
}

func (a *app) connect() (err error) {
	s := a.settings
	bus, hubs := s.ServiceBus.ConnectionString.Reveal(), s.EventHubs.ConnectionString.Reveal()
	if a.producer, err = eventhubs.Open(eventhubs.Connection{ConnectionString: hubs}, eventhubs.Options{Hub: s.EventHub}); err != nil {
		return err
	}
	a.closers = append(a.closers, a.producer.Close)
	if a.sender, err = servicebus.Open(servicebus.Connection{ConnectionString: bus}, servicebus.Options{}); err != nil {
		return err
	}
	a.closers = append(a.closers, a.sender.Close)
	client, err := azservicebus.NewClientFromConnectionString(bus, nil)
	if err != nil {
		return fmt.Errorf("open Service Bus: %w", err)
	}
	a.closers = append(a.closers, client.Close)
	if a.queue, err = client.NewReceiverForQueue(s.DeliveriesQueue, nil); err != nil {
		return fmt.Errorf("open queue %s: %w", s.DeliveriesQueue, err)
	}
	a.db, err = cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.CosmosDB.ConnectionString.Reveal()}, cosmosdb.Options{Database: s.Database})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, func(context.Context) error { a.db.Close(); return nil })
	if a.transactions, err = cosmosdb.NewTransactions(a.db); err != nil {
		return err
	}
	b := s.Backends
	a.backends, err = backendclient.New(backendclient.Config{Backends: map[string]string{
		delivery.StepAccount: b.Account, delivery.StepPackage: b.Package, delivery.StepTransportation: b.Transportation,
		delivery.StepDrone: b.Drone, delivery.StepDelivery: b.Delivery,
	}, CallTimeout: s.Budgets.Call}, time.Now)
	return err
}

// addRoutes adds the HTTP functions: the backends are the app's.
func (a *app) addRoutes(ctx context.Context, api *mux.Router) error {
	record.Mount(api, a.logger, a.ingestEndpoints(ctx))
	requests, err := cosmosdb.NewRequests(a.db)
	if err != nil {
		return err
	}
	outside, err := cosmosdb.NewOutsideOperations(a.db)
	if err != nil {
		return err
	}
	shown := progress.New(a.transactions, outside, ingest.Known{Requests: requests, Mint: a.ids, Now: time.Now})
	get := func(ctx context.Context, id string) (progress.View, error) { return shown.Get(ctx, id, "") }
	record.Mount(api, a.logger, []record.Endpoint{{Method: http.MethodGet, Path: "deliveryrequests/{id}",
		Handle: record.AnswerGet(get, func(v progress.View) progress.View { return v })}})

	var errs []error
	s, keep := a.settings, a.settings.Budgets.DocumentTTL
	carriers := transportation.Defaults()
	ahead := s.PickupHorizon + s.Budgets.CompleteBy
	carriers.DroneReachKm, carriers.Retention, carriers.Ahead = s.CarrierDistanceKm, keep, ahead
	fleet := drone.Defaults()
	fleet.ExpeditedSpeedKmh *= s.Fleet.SpeedKmh / fleet.SpeedKmh
	fleet.Drones, fleet.Zones, fleet.SpeedKmh = s.Fleet.Drones, s.Fleet.Zones, s.Fleet.SpeedKmh
	fleet.CapacityKg, fleet.TimeScale, fleet.Retention = s.Fleet.CapacityKg, s.Fleet.TimeScale, keep
	drones, err := cosmosdb.NewDrones(a.db)
	errs = append(errs, err)
	scheduler, err := drone.New(fleet, records[record.Record[drone.Assignment]](a.db, cosmosdb.AssignmentsContainer, &errs), drones, time.Now)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	scheduler.Routes(api, a.logger)
	account.New(records[account.Account](a.db, cosmosdb.AccountsContainer, &errs)).Routes(api, a.logger)
	parcel.New(parcel.Config{Retention: keep, Ahead: ahead},
		records[record.Record[parcel.Content]](a.db, cosmosdb.PackagesContainer, &errs), time.Now).Routes(api, a.logger)
	transportation.New(carriers,
		records[record.Record[transportation.Booking]](a.db, cosmosdb.BookingsContainer, &errs), time.Now).Routes(api, a.logger)
	deliveries.New(deliveries.Config{Retention: keep},
		records[record.Record[deliveries.Content]](a.db, cosmosdb.DeliveriesContainer, &errs), time.Now).Routes(api, a.logger)
	return errors.Join(errs...)
}

func records[T any](db *cosmosdb.Database, container string, errs *[]error) *cosmosdb.Records[T] {
	r, err := cosmosdb.NewRecords[T](db, container)
	*errs = append(*errs, err)
	return r
}

// close waits for what still runs and closes the connections. The context that
// newApp was given has ended: what was accepted and not sent is lost.
func (a *app) close(ctx context.Context) error {
	errs := []error{a.events.Wait(ctx), a.sending.Wait()}
	for _, close := range a.closers {
		errs = append(errs, close(ctx))
	}
	return errors.Join(errs...)
}
