package messaging

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// statusError is an error of a management node, as the SDK has it.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) RPCCode() int  { return int(e) }

func TestEventHubs(t *testing.T) {
	condition := func(c amqp.ErrCond) error { return &amqp.Error{Condition: c} }
	cases := []struct {
		name   string
		err    error
		kind   failure.Kind
		after  time.Duration
		advice string
	}{
		{"too large for a batch", azeventhubs.ErrEventDataTooLarge, failure.Invalid, 0, ""},
		{"unknown to the SDK", io.EOF, failure.Transient, 0, ""},
		{"refused", condition(amqp.ErrCondUnauthorizedAccess), failure.Permanent, 0, "the token is refused: give the identity the role Azure Event Hubs Data Sender"},
		{"refused, by the SDK", &azeventhubs.Error{Code: azeventhubs.ErrorCodeUnauthorizedAccess}, failure.Permanent, 0, "the token is refused: give the identity the role Azure Event Hubs Data Sender"},
		{"connection lost", &azeventhubs.Error{Code: azeventhubs.ErrorCodeConnectionLost}, failure.Transient, 0, ""},
		{"ownership lost", &azeventhubs.Error{Code: azeventhubs.ErrorCodeOwnershipLost}, failure.Conflict, 0, ""},
		{"a code of a later SDK", &azeventhubs.Error{Code: "later"}, failure.Transient, 0, ""},
		{"unknown hub", condition(amqp.ErrCondNotFound), failure.Permanent, 0, "does not exist"},
		{"unknown hub, by a management node", statusError(404), failure.Permanent, 0, "does not exist"},
		{"refused by a management node", statusError(401), failure.Permanent, 0, "the token is refused: give the identity the role Azure Event Hubs Data Sender"},
		{"bad request to a management node", statusError(400), failure.Invalid, 0, ""},
		{"management node is busy", statusError(503), failure.Transient, 0, ""},
		{"unknown partition", condition("com.microsoft:argument-out-of-range"), failure.Permanent, 0, "no such partition"},
		{"busy", condition("com.microsoft:server-busy"), failure.Transient, 4 * time.Second, ""},
		{"disabled", condition("com.microsoft:entity-disabled"), failure.Transient, 4 * time.Second, "enable it"},
		{"over quota", condition(amqp.ErrCondResourceLimitExceeded), failure.Transient, 4 * time.Second, "quota"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := eventHubs.Fail(t.Context(), "send to partition", "hub/0", fmt.Errorf("sdk: %w", c.err))
			if !failure.Is(err, c.kind) || failure.RetryAfter(err) != c.after || !errors.Is(err, c.err) {
				t.Errorf("got %v of kind %v, delay %v", err, failure.KindOf(err), failure.RetryAfter(err))
			}
			if text := err.Error(); !strings.Contains(text, c.advice) || !strings.HasPrefix(text, "send to partition hub/0: ") {
				t.Errorf("got text %q", text)
			}
		})
	}
}

func TestOpenProducerSaysWhatIsMissing(t *testing.T) {
	connection := "Endpoint=sb://127.0.0.1;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0"
	for _, c := range []struct {
		c   Connection
		hub string
	}{
		{Connection{ConnectionString: connection}, ""},
		{Connection{ConnectionString: connection + ";EntityPath=other"}, "hub"},
		{Connection{ConnectionString: "nonsense"}, "hub"},
		{Connection{Namespace: "ns.servicebus.windows.net"}, "hub"},
		{Connection{}, "hub"},
	} {
		if _, err := OpenProducer(c.c, c.hub, Options{}); err == nil {
			t.Errorf("%+v was opened for hub %q", c.c, c.hub)
		}
	}
}
