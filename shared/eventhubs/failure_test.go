package eventhubs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// statusError is an error of a management node, as the SDK has it.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) RPCCode() int  { return int(e) }

// neverError is an error of a credential that will never work.
type neverError struct{}

func (neverError) Error() string { return "no identity" }
func (neverError) NonRetriable() {}

func TestJudge(t *testing.T) {
	condition := func(c amqp.ErrCond) error { return &amqp.Error{Condition: c} }
	cases := []struct {
		name   string
		err    error
		kind   failure.Kind
		waits  bool
		advice string
	}{
		{"too large for a batch", azeventhubs.ErrEventDataTooLarge, failure.Invalid, false, ""},
		{"too large for a link", condition(amqp.ErrCondMessageSizeExceeded), failure.Invalid, false, ""},
		{"refused", &azeventhubs.Error{Code: azeventhubs.ErrorCodeUnauthorizedAccess}, failure.Permanent, false, "Data Sender"},
		{"connection lost", &azeventhubs.Error{Code: azeventhubs.ErrorCodeConnectionLost}, failure.Transient, false, ""},
		{"ownership lost", &azeventhubs.Error{Code: azeventhubs.ErrorCodeOwnershipLost}, failure.Conflict, false, ""},
		{"a code of a later SDK", &azeventhubs.Error{Code: "later"}, failure.Transient, false, ""},
		{"unknown hub", condition(amqp.ErrCondNotFound), failure.Permanent, false, "does not exist"},
		{"unknown hub, on detach", &amqp.LinkError{RemoteErr: &amqp.Error{Condition: amqp.ErrCondNotFound}}, failure.Permanent, false, "does not exist"},
		{"unknown hub, by a management node", statusError(404), failure.Permanent, false, "does not exist"},
		{"refused by a management node", statusError(401), failure.Permanent, false, "Data Sender"},
		{"bad request to a management node", statusError(400), failure.Invalid, false, ""},
		{"management node is busy", statusError(503), failure.Transient, false, ""},
		{"unknown partition", condition("com.microsoft:argument-out-of-range"), failure.Permanent, false, "no such partition"},
		{"busy", condition("com.microsoft:server-busy"), failure.Transient, true, ""},
		{"over quota", condition(amqp.ErrCondResourceLimitExceeded), failure.Transient, true, "quota"},
		{"a condition nobody knows", condition("com.example:odd"), failure.Transient, false, ""},
		{"no credential", neverError{}, failure.Permanent, false, "Data Sender"},
		{"network", io.EOF, failure.Transient, false, ""},
		{"time", context.DeadlineExceeded, failure.Transient, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := judge(t.Context(), "send to partition", "hub/0", fmt.Errorf("sdk: %w", c.err))
			if !failure.Is(err, c.kind) || (failure.RetryAfter(err) > 0) != c.waits || !errors.Is(err, c.err) {
				t.Errorf("got %v of kind %v, delay %v", err, failure.KindOf(err), failure.RetryAfter(err))
			}
			if text := err.Error(); !strings.Contains(text, c.advice) || !strings.HasPrefix(text, "send to partition hub/0: ") {
				t.Errorf("got text %q", text)
			}
		})
	}
}

func TestJudgeTellsWhyTheContextEnded(t *testing.T) {
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := judge(ctx, "send", "hub/0", context.Canceled); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	connection := "Endpoint=sb://127.0.0.1;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0"
	for _, c := range []struct {
		c Connection
		o Options
	}{
		{Connection{ConnectionString: connection}, Options{}},
		{Connection{ConnectionString: connection + ";EntityPath=other"}, Options{Hub: "hub"}},
		{Connection{ConnectionString: "nonsense"}, Options{Hub: "hub"}},
		{Connection{Namespace: "ns.servicebus.windows.net"}, Options{Hub: "hub"}},
		{Connection{}, Options{Hub: "hub"}},
	} {
		if _, err := Open(c.c, c.o); err == nil {
			t.Errorf("%+v with %+v was opened", c.c, c.o)
		}
	}
}
