// Package settings turns the environment into one typed value, once, at the
// start. The app's settings in Azure, local.settings.json and the shell are all
// the environment to a custom handler.
//
// Reading order: settings.go (the value), connection.go (how a service is
// reached, and Secret), table.go (every variable with its default and its
// range), parse.go, rules.go (the rules between the values), load.go.
// docs/settings.md is generated from the table.
package settings

import (
	"log/slog"
	"time"
)

// Settings is the configuration of the handler. It is read-only after Load and
// holds no connection and no secret that would print.
type Settings struct {
	// Port is where the host expects the handler, on 127.0.0.1.
	Port int

	EventHubs  Connection
	ServiceBus Connection
	CosmosDB   Connection

	EventHub           string // the hub's name
	ConsumerGroup      string
	DeliveriesQueue    string
	CompensationsQueue string
	Database           string
	SweepSchedule      string // NCRONTAB, six fields

	Backends Backends
	Budgets  Budgets
	Writer   Writer
	Fleet    Fleet

	// CarrierDistanceKm is the distance between pickup and drop-off above which
	// a third-party carrier is needed.
	CarrierDistanceKm float64
	// EventConcurrency is how many events of one function run at once here.
	EventConcurrency int
	LogLevel         slog.Level
}

// Backends says where the steps' services are.
type Backends struct {
	Account        string // URLs without a slash at the end
	Package        string
	Transportation string
	Drone          string
	Delivery       string
	// Key is the function key that goes with every call, if the backends are
	// functions that want one.
	Key Secret
	// Concurrency is how many calls to one backend are under way at most.
	Concurrency int
}

// Budgets are the system's times and counts that depend on each other; see
// Rules.
type Budgets struct {
	Call            time.Duration // one HTTP call to a backend
	Step            time.Duration // all attempts of one step in one invocation
	Invocation      time.Duration // one event
	MessageLock     time.Duration // of the queues
	LockRenewal     time.Duration // how long the host renews a lock: host.json
	FunctionTimeout time.Duration // after which the host kills the handler: host.json
	LaterMin        time.Duration // the first delay of a wake
	LaterMax        time.Duration // the longest
	Lease           time.Duration
	DuplicateWindow time.Duration // of the queues
	CompleteBy      time.Duration // a transaction's time from its first start
	DocumentTTL     time.Duration // of final transactions, tombstones, quarantine
	HubRetention    time.Duration
	QueueTTL        time.Duration
	Accept          time.Duration // how long Ingest waits for an acknowledgement
	// MaxDeliveryCount is the queues'.
	MaxDeliveryCount int
	CallAttempts     int // of one step's call, in one invocation
	UndoAttempts     int // wakes that may put an undo off before Stuck
	DeadLetters      int // of one transaction before Stuck
}

// Writer is how Ingest groups events.
type Writer struct {
	BatchEvents  int           // a flush is due after so many events,
	BatchBytes   int           // so many bytes,
	Linger       time.Duration // or so long after the first, when nothing is in flight
	BufferEvents int           // events of one partition that wait at most; more are refused
}

// Fleet is what the Drone scheduler has.
type Fleet struct {
	Drones     int // in all zones together
	Zones      int
	SpeedKmh   float64
	CapacityKg float64
	// TimeScale multiplies the time of every flight: 1 is real, 0.001 a demo.
	TimeScale float64
}
