package servicebus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// busyDelay is how long a client should wait after the service said that it is
// busy; see
// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-throttling.
const busyDelay = 10 * time.Second

// verdict is what an error means, and what can be done about it.
type verdict struct {
	kind   failure.Kind
	after  time.Duration
	advice string
}

const (
	refused = "the key or the token is refused: give the identity the role Azure Service Bus Data Sender, or check the connection string"
	absent  = "the queue does not exist: deploy it, or start the local runtime with it"
)

// byCode judges the errors that the SDK has judged before.
var byCode = map[azservicebus.Code]verdict{
	azservicebus.CodeUnauthorizedAccess: {kind: failure.Permanent, advice: refused},
	azservicebus.CodeNotFound:           {kind: failure.Permanent, advice: absent},
	azservicebus.CodeLockLost:           {kind: failure.Conflict},
	azservicebus.CodeTimeout:            {kind: failure.Transient},
	azservicebus.CodeConnectionLost:     {kind: failure.Transient},
	azservicebus.CodeClosed:             {kind: failure.Transient},
}

// byCondition judges what the service itself says; see
// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot.
var byCondition = map[amqp.ErrCond]verdict{
	amqp.ErrCondUnauthorizedAccess:           {kind: failure.Permanent, advice: refused},
	amqp.ErrCondNotFound:                     {kind: failure.Permanent, advice: absent},
	amqp.ErrCondNotAllowed:                   {kind: failure.Permanent},
	amqp.ErrCondMessageSizeExceeded:          {kind: failure.Invalid},
	amqp.ErrCondDecodeError:                  {kind: failure.Invalid},
	amqp.ErrCondResourceLimitExceeded:        {kind: failure.Transient, after: busyDelay, advice: "the queue is full"},
	"com.microsoft:entity-disabled":          {kind: failure.Transient, after: busyDelay, advice: "the queue is disabled: enable it"},
	"com.microsoft:server-busy":              {kind: failure.Transient, after: busyDelay},
	"com.microsoft:argument-error":           {kind: failure.Invalid},
	"com.microsoft:argument-out-of-range":    {kind: failure.Invalid},
	"com.microsoft:message-lock-lost":        {kind: failure.Conflict},
	"com.microsoft:entity-already-exists":    {kind: failure.Conflict},
	"com.microsoft:operation-cancelled":      {kind: failure.Transient},
	"com.microsoft:timeout":                  {kind: failure.Transient},
	"com.microsoft:session-cannot-be-locked": {kind: failure.Conflict},
}

// judge turns an error of the SDK into a *failure.Error. It is the only place
// that decides what kind of failure an answer of Service Bus is. What it does
// not know is transient.
func judge(ctx context.Context, op, id string, err error) error {
	v := judged(err)
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if v.advice != "" {
		err = fmt.Errorf("%s: %w", v.advice, err)
	}
	return &failure.Error{Kind: v.kind, Op: op, ID: id, RetryAfter: v.after, Err: err}
}

func judged(err error) verdict {
	if errors.Is(err, azservicebus.ErrMessageTooLarge) {
		return verdict{kind: failure.Invalid}
	}
	// The condition says more than the SDK's code, where it can be seen.
	var remote *amqp.Error
	if errors.As(err, &remote) {
		if v, ok := byCondition[remote.Condition]; ok {
			return v
		}
	}
	var coded *azservicebus.Error
	if errors.As(err, &coded) {
		return byCode[coded.Code]
	}
	// Credentials that will never work say so.
	var never interface{ NonRetriable() }
	if errors.As(err, &never) {
		return verdict{kind: failure.Permanent, advice: refused}
	}
	return verdict{}
}
