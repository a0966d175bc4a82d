// Package settings turns the environment into one typed value, once, at the
// start. For a custom handler the app's settings in Azure, local.settings.json
// and the shell all are the environment.
//
// Reading order: settings.go (the value), connection.go (how a service is
// reached, and Secret), table.go (every variable with its default and its
// range), parse.go, rules.go (the rules between the values), load.go.
// docs/settings.md is generated from the table.
package settings

import (
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Settings is the configuration of the handler. It is read-only after Load and
// holds no connection and no secret that would print.
type Settings struct {
	// Port is where the host expects the handler, on 127.0.0.1.
	Port int

	// Functions are those that the host runs here. A connection that none of
	// them needs is not read and has no address.
	Functions Functions

	EventHubs  Connection
	ServiceBus Connection
	CosmosDB   Connection
	// Storage is the host's, where its triggers keep their checkpoints; read if
	// Operations runs here.
	Storage Connection

	// Shard is whose hub, queues and database these are.
	Shard              shard.Number
	EventHub           string // the hub's name
	ConsumerGroup      string
	TransactionsQueue  string
	CompensationsQueue string
	NotificationsQueue string
	Database           string
	SweepSchedule      string // NCRONTAB, six fields
	// RelayQuiet is how long nothing must have happened in a partition before
	// Sweep's timer hands over what the trigger has skipped there.
	RelayQuiet time.Duration
	Scheduler  Scheduler

	Backends  Backends
	Budgets   Budgets
	Writer    ingest.Limits // without its Timeout, which is Budgets.Accept
	Notify    Notify
	Auth      Auth
	RateLimit RateLimit
	Telemetry Telemetry

	// Business are the settings of the business, by name.
	Business business.Values

	// IDKeys are what ids are minted with, and known by; see shard.Minter.
	IDKeys Secret
	// EventConcurrency is how many events of one function run at once here.
	EventConcurrency int
	// ClockOffset puts the clock wrong, for fault injection.
	ClockOffset time.Duration
	LogLevel    slog.Level
}

// Scheduler says where what the hub brings is worked off (docs/adr/0029-three-ways.md).
type Scheduler struct {
	Mode SchedulerMode
	// InFlight is how many transactions Relay works on at once for one batch of at most
	// BatchEvents events.
	InFlight, BatchEvents int
	// Patience is when Relay leaves a transaction to the queue, with SchedulerStream.
	Patience time.Duration
}

// SchedulerMode is where what the hub brings is worked off.
type SchedulerMode string

const (
	// SchedulerQueue copies it into the queue, for Schedule.
	SchedulerQueue SchedulerMode = "queue"
	// SchedulerStream works it off in Relay, but what is slow is left to the queue.
	SchedulerStream SchedulerMode = "stream"
	// SchedulerBatch works it off in Relay, which waits for it.
	SchedulerBatch SchedulerMode = "batch"
)

// Schedulers are all modes, the default first.
var Schedulers = []SchedulerMode{SchedulerQueue, SchedulerStream, SchedulerBatch}

// longestSave is what may follow the last call of an event: 15 s for the save of it,
// and as much for a message.
const longestSave = 30 * time.Second

// LongestBatch bounds how long Relay may be busy with one batch of the business: each
// place takes its share of the events, one after the other.
func (s Settings) LongestBatch(of business.Business) time.Duration {
	event := s.Budgets.Invocation
	switch s.Scheduler.Mode {
	case SchedulerQueue:
		return s.Budgets.Invocation
	case SchedulerStream: // a call that has begun ends
		event = s.Scheduler.Patience + of.Workflow.LongestCall(s.Budgets.Call)
	}
	rounds := (s.Scheduler.BatchEvents + s.Scheduler.InFlight - 1) / s.Scheduler.InFlight
	return time.Duration(rounds) * (event + longestSave)
}

// Queues are the names of the queues.
func (s Settings) Queues() []string {
	return []string{s.TransactionsQueue, s.CompensationsQueue, s.NotificationsQueue}
}

// Backends says where the steps' services are.
type Backends struct {
	URLs map[string]string // by backend, without a slash at the end
	// Key is the function key that goes with every call, if the backends are
	// functions that want one.
	Key Secret
	// Audience is whom a token of this app's identity is asked for, which goes
	// with every call; "" is none.
	Audience string
	// ClientID names the managed identity whose token it is; "" is the default
	// chain of credentials.
	ClientID string
	// Concurrency is how many calls to one backend are under way at most, in
	// one handler: the total is this times the instances.
	Concurrency int
	Breaker     failure.Breaker
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
	SaveEvery       time.Duration // how long a first run may go on without a save
	DuplicateWindow time.Duration // of the queues
	CompleteBy      time.Duration // a transaction's time from its first start
	DocumentTTL     time.Duration // of final transactions, tombstones, quarantine
	HubRetention    time.Duration
	QueueTTL        time.Duration
	Accept          time.Duration // how long Ingest waits for an acknowledgement
	AcceptTarget    time.Duration // in which it is to answer
	// MaxDeliveryCount is the queues'.
	MaxDeliveryCount int
	CallAttempts     int // of one step's call, in one invocation
	UndoAttempts     int // wakes after which a sent undo has failed, before Stuck
	DeadLetters      int // of one transaction before Stuck
}

// Notify says who is told that a transaction came to rest.
type Notify struct {
	URL string // of the receiver of events; empty: there is none
	// Key and PreviousKey sign, in the form of notify.ParseSigningKey. The
	// second is set while the first is being replaced.
	Key, PreviousKey Secret
	Source           string // of the CloudEvents, a URI reference
	// GiveUpAfter is how old a notice that can't be delivered becomes.
	GiveUpAfter time.Duration
	// Concurrency is how many calls to the receiver, and how many mails, are under way at
	// most, in one handler.
	Concurrency int
	Mail        Mail
}

// On reports whether anybody is told.
func (n Notify) On() bool { return n.URL != "" || n.Mail.URL != "" }

// Mail says how letters to people are sent.
type Mail struct {
	URL      string // of the server, with smtp or smtps; empty: none are sent
	User     string // empty: no sign-in
	Password Secret
	From     string        // an address, with a name or without
	Timeout  time.Duration // of one mail
}

// AuthMode is who checks the callers of the HTTP functions.
type AuthMode string

// The modes.
const (
	AuthOff   AuthMode = "off"   // nobody: on a developer's machine
	AuthKeys  AuthMode = "keys"  // the host, by function keys
	AuthEntra AuthMode = "entra" // the handler, by Entra ID's tokens
)

// Auth says which callers are let in.
type Auth struct {
	Mode AuthMode
	// Issuer is who signs tokens: a URL below which its OpenID configuration is.
	Issuer string
	// Audiences are the values of "aud" that are taken.
	Audiences []string
	// AccountClaim names the claim with the accounts that a caller may act on; ""
	// for any account.
	AccountClaim string
}

// RateLimit is what one caller may send to the HTTP functions of one handler.
type RateLimit struct {
	PerSecond float64 // requests; 0 is no limit
	Burst     int     // requests at once
}

// Telemetry says where spans and metrics go, besides what the OpenTelemetry
// SDK reads itself (OTEL_...).
type Telemetry struct {
	TraceFile  string  // spans as JSON lines; "" is nowhere
	Prometheus bool    // GET /metrics on the handler's own port
	TraceRatio float64 // the part of the traces that is recorded, from 0 to 1
	TraceURL   string  // of the page of a trace, with {traceId} in it; "" is none
	// OTLPScope is the scope of the token that goes with every export; "" is no
	// token. OTLPClientID names the managed identity whose token it is.
	OTLPScope, OTLPClientID string
}
