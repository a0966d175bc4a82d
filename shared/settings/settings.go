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
	NotificationsQueue string
	Database           string
	SweepSchedule      string // NCRONTAB, six fields
	// RelayQuiet is how long nothing must have happened in a partition before
	// Sweep's timer hands over what the trigger has skipped there.
	RelayQuiet time.Duration

	Backends Backends
	Budgets  Budgets
	Writer   Writer
	Fleet    Fleet
	Notify   Notify

	// CarrierDistanceKm is the distance between pickup and drop-off above which
	// a third-party carrier is needed.
	CarrierDistanceKm float64
	// EventConcurrency is how many events of one function run at once here.
	EventConcurrency int
	// CrashPlan and CrashLog are files of fault injection; see package crash.
	CrashPlan, CrashLog string
	LogLevel            slog.Level
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
	// Concurrency is how many calls to one backend are under way at most, in
	// one handler: the total is this times the instances.
	Concurrency int
	Breaker     Breaker
}

// Breaker says when the calls to a backend that is down are given up, and for
// how long.
type Breaker struct {
	FailureRatio float64       // share of the calls in Window that must have failed
	MinCalls     int           // that there must be in Window
	Window       time.Duration // how far back calls count
	Delay        time.Duration // without any call
	Probes       int           // calls after it, which must all succeed
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
	UndoAttempts     int // wakes after which a sent undo has failed, before Stuck
	DeadLetters      int // of one transaction before Stuck
}

// Notify says who is told that a transaction came to rest.
type Notify struct {
	URL string // empty: nobody
	// Key and PreviousKey sign, in the form of package standardwebhooks. The
	// second is set while the first is being replaced.
	Key, PreviousKey Secret
	Source           string // of the CloudEvents, a URI reference
	// GiveUpAfter is how old a notice that can't be delivered becomes.
	GiveUpAfter time.Duration
	// Concurrency is how many calls are under way at most, in one handler.
	Concurrency int
}

// On reports whether anybody is told.
func (n Notify) On() bool { return n.URL != "" }

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
