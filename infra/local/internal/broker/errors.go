package broker

import (
	"errors"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// lockLostText is what clients look for besides the condition.
const lockLostText = "The lock supplied is invalid. Either the lock expired, " +
	"or the message has already been removed from the queue"

var errClosed = &amqp.Error{Condition: amqp.CondConnectionForced, Description: "the emulator is stopping"}

// errDeleted ends the links of a hub that was deleted. The SDKs attach again,
// and find the new one.
var errDeleted = &amqp.Error{Condition: amqp.CondDetachForced, Description: "The link is force detached. Details: the event hub was deleted"}

func noEntity(address string) *amqp.Error {
	return amqp.Errorf(amqp.CondNotFound, "The messaging entity '%s' could not be found", address)
}

// sendDisabled is what senders get of a hub with the status SendDisabled. The condition is the one that
// the SDKs know for a disabled entity; that a link which is open ends with it, at its
// next transfer, is taken to be so: it is not documented.
func sendDisabled(name string) *amqp.Error {
	return amqp.Errorf(amqp.CondEntityDisabled, "The messaging entity '%s' is currently disabled for send operations", name)
}

// wire turns an error of the rules into the service's; other errors stay.
func wire(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queue.ErrLockLost):
		return amqp.Errorf(amqp.CondMessageLockLost, lockLostText)
	case errors.Is(err, queue.ErrNotFound):
		return amqp.Errorf(amqp.CondMessageNotFound, "Failed to lock one or more specified messages. The message does not exist")
	case errors.Is(err, queue.ErrNotAllowed):
		return amqp.Errorf(amqp.CondNotAllowed, "Messages in the dead-letter queue can't be dead-lettered")
	case errors.Is(err, eventlog.ErrStolen):
		return amqp.Errorf(amqp.CondLinkStolen, "%v", err)
	case errors.Is(err, eventlog.ErrTooMany):
		return amqp.Errorf(amqp.CondResourceLimitExceeded, "%v", err)
	case errors.Is(err, eventlog.ErrBeyondEnd):
		return amqp.Errorf(amqp.CondArgumentOutOfRange, "%v", err)
	case errors.Is(err, eventlog.ErrBadPosition):
		return amqp.Errorf(amqp.CondArgumentError, "%v", err)
	default:
		return err
	}
}
