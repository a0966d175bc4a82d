package operate

import (
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Status is how things stand with a shard, along the flow, as its instances and
// Sweep have told. Rates are per second, and sums over the instances.
type Status struct {
	At    time.Time    `json:"at"` // when it was put together
	Shard shard.Number `json:"shard"`
	// Unusual is what somebody should know, what can't wait first. Without any, all
	// is well.
	Unusual   []Unusual  `json:"unusual"`
	Accepting Accepting  `json:"accepting"`
	Steps     []StepFlow `json:"steps"`    // in the order of the workflow
	Breakers  []Breaker  `json:"breakers"` // those that are open
	Database  Database   `json:"database"`
	// Ends are rates, by the state that was reached; UndosBegun is the rate of those
	// that began to be undone.
	Ends       map[workflow.State]float64 `json:"ends"`
	UndosBegun float64                    `json:"undosBegun"`
	// SignInsRefused are requests a second whose token is not good, or lacks the role.
	SignInsRefused float64 `json:"signInsRefused"`
	// UnsentSince is since when an instance that sends to Service Bus has had nothing taken;
	// zero while it takes what it is sent.
	UnsentSince time.Time      `json:"unsentSince,omitzero"`
	Survey      Survey         `json:"survey"`
	Instances   []InstanceFlow `json:"instances"`
	History     History        `json:"history"`
}

// Unusual is one thing that somebody should know.
type Unusual struct {
	Key   string `json:"key"`   // the same as long as it lasts
	Says  string `json:"says"`  // a sentence: what, and where
	Do    string `json:"do"`    // a sentence: what to do
	About string `json:"about"` // the heading of the paragraph in docs/operations.md
	// Since is when it began, as far as is known: for most of them, when it was first seen.
	Since time.Time `json:"since"`
	// Urgent is set if something may be lost, or stands.
	Urgent bool `json:"urgent"`
}

// Accepting is what Ingest does.
type Accepting struct {
	PerSecond float64 `json:"perSecond"` // requests that the hub has acknowledged
	// FailedPerSecond are those that it has not.
	FailedPerSecond float64 `json:"failedPerSecond"`
	// RefusedPerSecond are requests that an instance was too busy for: it answered 503
	// without taking anything.
	RefusedPerSecond float64 `json:"refusedPerSecond"`
	// Buffer is how many wait for the hub, of all instances; Room is for how many
	// there is place. Fullest is how full the fullest instance's is, from 0 to 1.
	Buffer  int     `json:"buffer"`
	Room    int     `json:"room"`
	Fullest float64 `json:"fullest"`
}

// Lag is how far Relay is behind in a partition.
type Lag struct {
	Partition string `json:"partition"`
	Lag       int64  `json:"lag"` // events
	// OldestUnreadAt is when the hub took the first of those; zero without any.
	OldestUnreadAt time.Time `json:"oldestUnreadAt,omitzero"`
	// RenewedAt is when the trigger that reads it last said so; zero if none does.
	RenewedAt time.Time `json:"renewedAt,omitzero"`
}

// QueueCount counts the messages of a queue at one moment.
type QueueCount struct {
	Queue string `json:"queue"`
	// Active can be received or are locked by who does; Scheduled come later; Dead
	// are in the dead-letter sub-queue.
	Active    int64 `json:"active"`
	Scheduled int64 `json:"scheduled"`
	Dead      int64 `json:"dead"`
}

// StepFlow is what becomes of the attempts of a step, undo calls included.
type StepFlow struct {
	Step      string  `json:"step"`
	Backend   string  `json:"backend"`
	InFlight  int     `json:"inFlight"`
	PerSecond float64 `json:"perSecond"`
	// FailedPerSecond are those that are made again later. Error is the type of the
	// last failure, such as timeout: never a text.
	FailedPerSecond float64 `json:"failedPerSecond"`
	Error           string  `json:"error,omitempty"`
	// UndoRefusedAt is when the backend last refused an undo, or did not let us in; zero
	// if it is some time ago, or an undo has succeeded since. UndoneAt is when one last
	// did: of an instance, and zero if that is some time ago.
	UndoRefusedAt time.Time `json:"undoRefusedAt,omitzero"`
	UndoneAt      time.Time `json:"undoneAt,omitzero"`
}

// Breaker is the open circuit breaker of a backend. Instances tells in how many
// instances it is open, and Since since when in the first of them.
type Breaker struct {
	Backend   string    `json:"backend"`
	Since     time.Time `json:"since"`
	Instances int       `json:"instances"`
}

// Database is how the instances get on with Cosmos DB: tries of operations, repeats
// included, and those of them that it refused because its size is exceeded.
type Database struct {
	PerSecond          float64 `json:"perSecond"`
	ThrottledPerSecond float64 `json:"throttledPerSecond"`
}

// Count is how many there are of something, and the oldest of it.
type Count struct {
	Count int `json:"count"`
	// More is set when counting ended at the limit: there are more.
	More     bool      `json:"more,omitempty"`
	OldestAt time.Time `json:"oldestAt,omitzero"`
}

// Survey is what Sweep finds out once a minute: how many transactions there are by
// state, and what the hub and the queues hold.
type Survey struct {
	At time.Time `json:"at,omitzero"` // when it was made; zero if none ever was
	// States are the open states and Stuck; the oldest by when they were accepted.
	States     map[workflow.State]Count `json:"states"`
	Quarantine Count                    `json:"quarantine"` // kept, and not decided about; the oldest is not told
	Notices    Count                    `json:"notices"`    // transactions with notices to deliver, the oldest by when it is due
	Overdue    Count                    `json:"overdue"`    // wakes that nobody has answered, the oldest by when it was due
	Partitions []Lag                    `json:"partitions"`
	Queues     []QueueCount             `json:"queues"`
	Charge     float64                  `json:"charge"` // in request units, of the survey
	// Failed tells what could not be found out, and why.
	Failed []string `json:"failed,omitempty"`
}

// InstanceFlow is an instance that has told of itself lately.
type InstanceFlow struct {
	Instance string    `json:"instance"`
	At       time.Time `json:"at"` // when it last did
}

// History is the last hour, a point for each of its minutes, the oldest first.
type History struct {
	// From is the minute of the first point.
	From time.Time `json:"from,omitzero"`
	// Backlog is how many events and messages waited, Accepted and Completed are
	// rates, and Latency is the mean time from the acceptance to Completed, in
	// seconds; 0 without any.
	Backlog   []int64   `json:"backlog"`
	Accepted  []float64 `json:"accepted"`
	Completed []float64 `json:"completed"`
	Latency   []float64 `json:"latency"`
}
