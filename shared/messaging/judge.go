// Package messaging is the adapter to Azure's two messaging services, whose
// SDKs both speak AMQP 1.0: it puts events into an Event Hubs hub (Producer),
// rereads events that the trigger skipped (Reader), and sends messages to
// Service Bus queues (Sender). One place judges errors (judge.go), with each
// service's own errors beside it (eventhubs_failure.go, servicebus_failure.go).
package messaging

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// verdict is what an error means. The zero verdict is a transient failure.
type verdict struct {
	Kind failure.Kind
	// After is how long to wait before the next attempt; 0 if nothing is said.
	After time.Duration
	// Advice is what can be done about it; "" if there is nothing to say.
	Advice string
}

// judge judges the errors of one service. It is read only and so safe for
// concurrent use.
type judge struct {
	// Refused and Absent are for a caller without the right and for an entity
	// that does not exist; both are permanent.
	Refused, Absent string
	// Full and Disabled are for an entity that takes nothing at present.
	Full, Disabled string
	// Busy is how long a client should wait after the service said that it is
	// busy, or takes nothing at present.
	Busy time.Duration
	// Conditions are those that only this service has, or means differently.
	Conditions map[amqp.ErrCond]verdict
	// SDK judges the SDK's own errors, and reports whether err is one. It must
	// not be nil.
	SDK func(err error) (verdict, bool)
}

// Fail turns an error of the SDK into a *failure.Error for the operation op on
// the thing id, with the cause of ctx's end if it has ended. What nobody knows
// is transient.
func (j *judge) Fail(ctx context.Context, op, id string, err error) error {
	v := j.verdict(err)
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if v.Advice != "" {
		err = fmt.Errorf("%s: %w", v.Advice, err)
	}
	return &failure.Error{Kind: v.Kind, Op: op, ID: id, RetryAfter: v.After, Err: err}
}

func (j *judge) verdict(err error) verdict {
	// The condition says more than the SDK's code, where it can be seen.
	var remote *amqp.Error
	if errors.As(err, &remote) {
		if v, ok := j.byCondition(remote.Condition); ok {
			return v
		}
	}
	if v, ok := j.SDK(err); ok {
		return v
	}
	// Credentials that will never work say so.
	var never interface{ NonRetriable() }
	if errors.As(err, &never) {
		return verdict{Kind: failure.Permanent, Advice: j.Refused}
	}
	return verdict{}
}

// entityDisabled is the condition of an entity whose status forbids what was asked.
const entityDisabled amqp.ErrCond = "com.microsoft:entity-disabled"

// byCondition judges what the service itself says; see
// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot,
// which holds for both services.
func (j *judge) byCondition(condition amqp.ErrCond) (verdict, bool) {
	if v, ok := j.Conditions[condition]; ok {
		return v, true
	}
	switch condition {
	case amqp.ErrCondUnauthorizedAccess:
		return verdict{Kind: failure.Permanent, Advice: j.Refused}, true
	case amqp.ErrCondNotFound:
		return verdict{Kind: failure.Permanent, Advice: j.Absent}, true
	case amqp.ErrCondNotAllowed:
		return verdict{Kind: failure.Permanent}, true
	case amqp.ErrCondMessageSizeExceeded, amqp.ErrCondDecodeError, "com.microsoft:argument-error":
		return verdict{Kind: failure.Invalid}, true
	case amqp.ErrCondResourceLimitExceeded:
		return verdict{Kind: failure.Transient, After: j.Busy, Advice: j.Full}, true
	case entityDisabled:
		return verdict{Kind: failure.Transient, After: j.Busy, Advice: j.Disabled}, true
	case "com.microsoft:server-busy":
		return verdict{Kind: failure.Transient, After: j.Busy}, true
	case "com.microsoft:operation-cancelled", "com.microsoft:timeout":
		return verdict{Kind: failure.Transient}, true
	}
	return verdict{}, false
}
