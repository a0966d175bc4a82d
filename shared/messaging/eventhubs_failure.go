package messaging

import (
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

const (
	hubRefused = "the key or the token is refused: give the identity the role Azure Event Hubs Data Sender, or check the connection string"
	hubAbsent  = "the hub does not exist: deploy it, or start the local runtime with it"
)

// eventHubs is the only place that decides what kind of failure an answer of Event
// Hubs is.
var eventHubs = &judge{
	Refused:  hubRefused,
	Absent:   hubAbsent,
	Full:     "a quota of the namespace is used up",
	Disabled: "the hub is disabled: enable it",
	// https://learn.microsoft.com/azure/event-hubs/event-hubs-messaging-exceptions
	Busy: 4 * time.Second,
	Conditions: map[amqp.ErrCond]verdict{
		"com.microsoft:argument-out-of-range": {Kind: failure.Permanent, Advice: "the hub has no such partition"},
	},
	SDK: eventHubsSDK,
}

// hubCodes judges the errors that the SDK has judged before; others are transient.
var hubCodes = map[azeventhubs.ErrorCode]verdict{
	azeventhubs.ErrorCodeUnauthorizedAccess: {Kind: failure.Permanent, Advice: hubRefused},
	azeventhubs.ErrorCodeOwnershipLost:      {Kind: failure.Conflict},
}

func eventHubsSDK(err error) (verdict, bool) {
	if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return verdict{Kind: failure.Invalid}, true
	}
	var coded *azeventhubs.Error
	if errors.As(err, &coded) {
		return hubCodes[coded.Code], true
	}
	// A request to a management node is answered with a status of HTTP.
	var answered interface {
		error
		RPCCode() int
	}
	if errors.As(err, &answered) {
		return byStatus(answered.RPCCode()), true
	}
	return verdict{}, false
}

func byStatus(status int) verdict {
	switch status {
	case http.StatusNotFound:
		return verdict{Kind: failure.Permanent, Advice: hubAbsent}
	case http.StatusUnauthorized, http.StatusForbidden:
		return verdict{Kind: failure.Permanent, Advice: hubRefused}
	case http.StatusBadRequest:
		return verdict{Kind: failure.Invalid}
	}
	return verdict{}
}
