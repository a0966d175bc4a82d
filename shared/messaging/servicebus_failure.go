package messaging

import (
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

const (
	queueRefused = "the key or the token is refused: give the identity the role Azure Service Bus Data Sender, or check the connection string"
	queueAbsent  = "the queue does not exist: deploy it, or start the local runtime with it"
)

// serviceBus is the only place that decides what kind of failure an answer of Service
// Bus is.
var serviceBus = &judge{
	Refused:  queueRefused,
	Absent:   queueAbsent,
	Full:     "the queue is full",
	Disabled: "the queue is disabled: enable it",
	// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-throttling
	Busy: 10 * time.Second,
	Conditions: map[amqp.ErrCond]verdict{
		"com.microsoft:argument-out-of-range":    {Kind: failure.Invalid},
		"com.microsoft:message-lock-lost":        {Kind: failure.Conflict},
		"com.microsoft:entity-already-exists":    {Kind: failure.Conflict},
		"com.microsoft:session-cannot-be-locked": {Kind: failure.Conflict},
	},
	SDK: serviceBusSDK,
}

// queueCodes judges the errors that the SDK has judged before; others are transient.
var queueCodes = map[azservicebus.Code]verdict{
	azservicebus.CodeUnauthorizedAccess: {Kind: failure.Permanent, Advice: queueRefused},
	azservicebus.CodeNotFound:           {Kind: failure.Permanent, Advice: queueAbsent},
	azservicebus.CodeLockLost:           {Kind: failure.Conflict},
}

func serviceBusSDK(err error) (verdict, bool) {
	if errors.Is(err, azservicebus.ErrMessageTooLarge) {
		return verdict{Kind: failure.Invalid}, true
	}
	var coded *azservicebus.Error
	if errors.As(err, &coded) {
		return queueCodes[coded.Code], true
	}
	return verdict{}, false
}
