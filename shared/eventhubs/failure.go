package eventhubs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// busyDelay is how long a client should wait after the service said that it is
// busy; see
// https://learn.microsoft.com/azure/event-hubs/event-hubs-messaging-exceptions.
const busyDelay = 4 * time.Second

// verdict is what an error means, and what can be done about it.
type verdict struct {
	kind   failure.Kind
	after  time.Duration
	advice string
}

const (
	refused = "the key or the token is refused: give the identity the role Azure Event Hubs Data Sender, or check the connection string"
	absent  = "the hub does not exist: deploy it, or start the local runtime with it"
)

// byCode judges the errors that the SDK has judged before.
var byCode = map[azeventhubs.ErrorCode]verdict{
	azeventhubs.ErrorCodeUnauthorizedAccess: {kind: failure.Permanent, advice: refused},
	azeventhubs.ErrorCodeConnectionLost:     {kind: failure.Transient},
	azeventhubs.ErrorCodeOwnershipLost:      {kind: failure.Conflict},
}

// byCondition judges what the service itself says; see
// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot,
// which holds for both services.
var byCondition = map[amqp.ErrCond]verdict{
	amqp.ErrCondUnauthorizedAccess:        {kind: failure.Permanent, advice: refused},
	amqp.ErrCondNotFound:                  {kind: failure.Permanent, advice: absent},
	amqp.ErrCondNotAllowed:                {kind: failure.Permanent},
	amqp.ErrCondMessageSizeExceeded:       {kind: failure.Invalid},
	amqp.ErrCondDecodeError:               {kind: failure.Invalid},
	amqp.ErrCondResourceLimitExceeded:     {kind: failure.Transient, after: busyDelay, advice: "a quota of the namespace is used up"},
	"com.microsoft:entity-disabled":       {kind: failure.Transient, after: busyDelay, advice: "the hub is disabled: enable it"},
	"com.microsoft:server-busy":           {kind: failure.Transient, after: busyDelay},
	"com.microsoft:argument-error":        {kind: failure.Invalid},
	"com.microsoft:argument-out-of-range": {kind: failure.Permanent, advice: "the hub has no such partition"},
	"com.microsoft:operation-cancelled":   {kind: failure.Transient},
	"com.microsoft:timeout":               {kind: failure.Transient},
}

// judge turns an error of the SDK into a *failure.Error. It is the only place
// that decides what kind of failure an answer of Event Hubs is. What it does
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
	if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return verdict{kind: failure.Invalid}
	}
	// The condition says more than the SDK's code, where it can be seen.
	var remote *amqp.Error
	if errors.As(err, &remote) {
		if v, ok := byCondition[remote.Condition]; ok {
			return v
		}
	}
	var coded *azeventhubs.Error
	if errors.As(err, &coded) {
		return byCode[coded.Code]
	}
	// A request to a management node is answered with a status of HTTP.
	var answered interface {
		error
		RPCCode() int
	}
	if errors.As(err, &answered) {
		return byStatus(answered.RPCCode())
	}
	// Credentials that will never work say so.
	var never interface{ NonRetriable() }
	if errors.As(err, &never) {
		return verdict{kind: failure.Permanent, advice: refused}
	}
	return verdict{}
}

func byStatus(status int) verdict {
	switch status {
	case http.StatusNotFound:
		return verdict{kind: failure.Permanent, advice: absent}
	case http.StatusUnauthorized, http.StatusForbidden:
		return verdict{kind: failure.Permanent, advice: refused}
	case http.StatusBadRequest:
		return verdict{kind: failure.Invalid}
	}
	return verdict{}
}
