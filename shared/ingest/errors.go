package ingest

import (
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The refusals of the writer. All of them are transient failures.
var (
	// ErrBusy is returned at once when the buffer is full. Nothing was taken.
	ErrBusy error = &failure.Error{
		Kind: failure.Transient, Op: "accept request", RetryAfter: time.Second,
		Err: errors.New("the buffer is full"),
	}
	// ErrUnacknowledged is returned when the hub did not acknowledge in time.
	// The request may have been taken; it is to be repeated under the same id.
	ErrUnacknowledged error = &failure.Error{
		Kind: failure.Transient, Op: "accept request", RetryAfter: time.Second,
		Err: errors.New("not acknowledged in time; it may have been taken"),
	}
	// ErrClosed is returned once Close has begun. Nothing was taken.
	ErrClosed error = &failure.Error{
		Kind: failure.Transient, Op: "accept request", RetryAfter: time.Second,
		Err: errors.New("shutting down"),
	}
)

// errUntaken says of a failure that nothing was taken.
var errUntaken = errors.New("nothing was taken")

// untaken reports whether another shard may be asked after a failure of this one.
func untaken(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, errUntaken) }

// ErrRefusing is in the chain of a Producer's failure when the hub takes no events until an
// operator lets it.
var ErrRefusing = errors.New("the hub refuses events")

// The refusals of a repeat that is none.
var (
	// ErrOtherContent is returned by Put for an id that was accepted with
	// other content (409).
	ErrOtherContent = failure.New(failure.Conflict, "accept request", "",
		errors.New("the id was accepted with other content"))
	// ErrKeyReused is returned for an idempotency key that stands for another
	// request (422).
	ErrKeyReused = failure.New(failure.Invalid, "accept request", "",
		errors.New("the idempotency key belongs to another request"))
)

// UnacknowledgedError is ErrUnacknowledged together with the ids under which
// the request is to be repeated.
type UnacknowledgedError struct {
	TransactionID, OperationID string
	Err                        error // has ErrUnacknowledged in its chain
}

func (e *UnacknowledgedError) Error() string {
	return fmt.Sprintf("transaction %s, operation %s: %v", e.TransactionID, e.OperationID, e.Err)
}

// Unwrap returns the cause.
func (e *UnacknowledgedError) Unwrap() error { return e.Err }

// ShardClosedError is returned for a request to a transaction in a closed shard (409):
// what is there can be looked at only. It is a conflict.
type ShardClosedError struct {
	TransactionID string
	Shard         shard.Number
}

func (e *ShardClosedError) Error() string {
	return fmt.Sprintf("transaction %s is in shard %d, which is closed", e.TransactionID, e.Shard)
}

// Unwrap makes e a conflict.
func (e *ShardClosedError) Unwrap() error {
	return failure.New(failure.Conflict, "accept request", e.TransactionID, nil)
}

// PastError is returned for an operation on a transaction that is known to be
// past it (409). It is a conflict.
type PastError struct {
	TransactionID string
	State         workflow.State
	Reason        string
}

func (e *PastError) Error() string {
	return fmt.Sprintf("transaction %s is %s: %s", e.TransactionID, e.State, e.Reason)
}

// Unwrap makes e a conflict.
func (e *PastError) Unwrap() error {
	return failure.New(failure.Conflict, "accept request", e.TransactionID, nil)
}
