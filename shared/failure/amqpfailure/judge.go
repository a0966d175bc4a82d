// Package amqpfailure judges the errors that Service Bus and Event Hubs have in
// common: both speak AMQP 1.0, with the same error conditions. What only one of
// them says, its adapter adds.
package amqpfailure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Verdict is what an error means. The zero Verdict is a transient failure.
type Verdict struct {
	Kind failure.Kind
	// After is how long to wait before the next attempt; 0 if nothing is said.
	After time.Duration
	// Advice is what can be done about it; "" if there is nothing to say.
	Advice string
}

// Judge judges the errors of one service. It is read only and so safe for
// concurrent use.
type Judge struct {
	// Refused and Absent are for a caller without the right and for an entity
	// that does not exist; both are permanent.
	Refused, Absent string
	// Full and Disabled are for an entity that takes nothing at present.
	Full, Disabled string
	// Busy is how long a client should wait after the service said that it is
	// busy, or takes nothing at present.
	Busy time.Duration
	// Conditions are those that only this service has, or means differently.
	Conditions map[amqp.ErrCond]Verdict
	// SDK judges the SDK's own errors, and reports whether err is one. It must
	// not be nil.
	SDK func(err error) (Verdict, bool)
}

// Fail turns an error of the SDK into a *failure.Error for the operation op on
// the thing id, with the cause of ctx's end if it has ended. What nobody knows
// is transient.
func (j *Judge) Fail(ctx context.Context, op, id string, err error) error {
	v := j.verdict(err)
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if v.Advice != "" {
		err = fmt.Errorf("%s: %w", v.Advice, err)
	}
	return &failure.Error{Kind: v.Kind, Op: op, ID: id, RetryAfter: v.After, Err: err}
}

func (j *Judge) verdict(err error) Verdict {
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
		return Verdict{Kind: failure.Permanent, Advice: j.Refused}
	}
	return Verdict{}
}

// byCondition judges what the service itself says; see
// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot,
// which holds for both services.
func (j *Judge) byCondition(condition amqp.ErrCond) (Verdict, bool) {
	if v, ok := j.Conditions[condition]; ok {
		return v, true
	}
	switch condition {
	case amqp.ErrCondUnauthorizedAccess:
		return Verdict{Kind: failure.Permanent, Advice: j.Refused}, true
	case amqp.ErrCondNotFound:
		return Verdict{Kind: failure.Permanent, Advice: j.Absent}, true
	case amqp.ErrCondNotAllowed:
		return Verdict{Kind: failure.Permanent}, true
	case amqp.ErrCondMessageSizeExceeded, amqp.ErrCondDecodeError, "com.microsoft:argument-error":
		return Verdict{Kind: failure.Invalid}, true
	case amqp.ErrCondResourceLimitExceeded:
		return Verdict{Kind: failure.Transient, After: j.Busy, Advice: j.Full}, true
	case "com.microsoft:entity-disabled":
		return Verdict{Kind: failure.Transient, After: j.Busy, Advice: j.Disabled}, true
	case "com.microsoft:server-busy":
		return Verdict{Kind: failure.Transient, After: j.Busy}, true
	case "com.microsoft:operation-cancelled", "com.microsoft:timeout":
		return Verdict{Kind: failure.Transient}, true
	}
	return Verdict{}, false
}
