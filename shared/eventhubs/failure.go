package eventhubs

import (
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/failure/amqpfailure"
)

const (
	refused = "the key or the token is refused: give the identity the role Azure Event Hubs Data Sender, or check the connection string"
	absent  = "the hub does not exist: deploy it, or start the local runtime with it"
)

// judge is the only place that decides what kind of failure an answer of Event
// Hubs is.
var judge = &amqpfailure.Judge{
	Refused:  refused,
	Absent:   absent,
	Full:     "a quota of the namespace is used up",
	Disabled: "the hub is disabled: enable it",
	// https://learn.microsoft.com/azure/event-hubs/event-hubs-messaging-exceptions
	Busy: 4 * time.Second,
	Conditions: map[amqp.ErrCond]amqpfailure.Verdict{
		"com.microsoft:argument-out-of-range": {Kind: failure.Permanent, Advice: "the hub has no such partition"},
	},
	SDK: bySDK,
}

// byCode judges the errors that the SDK has judged before.
var byCode = map[azeventhubs.ErrorCode]amqpfailure.Verdict{
	azeventhubs.ErrorCodeUnauthorizedAccess: {Kind: failure.Permanent, Advice: refused},
	azeventhubs.ErrorCodeConnectionLost:     {Kind: failure.Transient},
	azeventhubs.ErrorCodeOwnershipLost:      {Kind: failure.Conflict},
}

func bySDK(err error) (amqpfailure.Verdict, bool) {
	if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return amqpfailure.Verdict{Kind: failure.Invalid}, true
	}
	var coded *azeventhubs.Error
	if errors.As(err, &coded) {
		return byCode[coded.Code], true
	}
	// A request to a management node is answered with a status of HTTP.
	var answered interface {
		error
		RPCCode() int
	}
	if errors.As(err, &answered) {
		return byStatus(answered.RPCCode()), true
	}
	return amqpfailure.Verdict{}, false
}

func byStatus(status int) amqpfailure.Verdict {
	switch status {
	case http.StatusNotFound:
		return amqpfailure.Verdict{Kind: failure.Permanent, Advice: absent}
	case http.StatusUnauthorized, http.StatusForbidden:
		return amqpfailure.Verdict{Kind: failure.Permanent, Advice: refused}
	case http.StatusBadRequest:
		return amqpfailure.Verdict{Kind: failure.Invalid}
	}
	return amqpfailure.Verdict{}
}
