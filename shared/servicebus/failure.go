package servicebus

import (
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/failure/amqpfailure"
)

const (
	refused = "the key or the token is refused: give the identity the role Azure Service Bus Data Sender, or check the connection string"
	absent  = "the queue does not exist: deploy it, or start the local runtime with it"
)

// judge is the only place that decides what kind of failure an answer of Service
// Bus is.
var judge = &amqpfailure.Judge{
	Refused:  refused,
	Absent:   absent,
	Full:     "the queue is full",
	Disabled: "the queue is disabled: enable it",
	// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-throttling
	Busy: 10 * time.Second,
	Conditions: map[amqp.ErrCond]amqpfailure.Verdict{
		"com.microsoft:argument-out-of-range":    {Kind: failure.Invalid},
		"com.microsoft:message-lock-lost":        {Kind: failure.Conflict},
		"com.microsoft:entity-already-exists":    {Kind: failure.Conflict},
		"com.microsoft:session-cannot-be-locked": {Kind: failure.Conflict},
	},
	SDK: bySDK,
}

// byCode judges the errors that the SDK has judged before.
var byCode = map[azservicebus.Code]amqpfailure.Verdict{
	azservicebus.CodeUnauthorizedAccess: {Kind: failure.Permanent, Advice: refused},
	azservicebus.CodeNotFound:           {Kind: failure.Permanent, Advice: absent},
	azservicebus.CodeLockLost:           {Kind: failure.Conflict},
	azservicebus.CodeTimeout:            {Kind: failure.Transient},
	azservicebus.CodeConnectionLost:     {Kind: failure.Transient},
	azservicebus.CodeClosed:             {Kind: failure.Transient},
}

func bySDK(err error) (amqpfailure.Verdict, bool) {
	if errors.Is(err, azservicebus.ErrMessageTooLarge) {
		return amqpfailure.Verdict{Kind: failure.Invalid}, true
	}
	var coded *azservicebus.Error
	if errors.As(err, &coded) {
		return byCode[coded.Code], true
	}
	return amqpfailure.Verdict{}, false
}
