package messaging

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

func TestServiceBus(t *testing.T) {
	condition := func(c amqp.ErrCond) error { return &amqp.Error{Condition: c} }
	coded := func(c azservicebus.Code) error { return &azservicebus.Error{Code: c} }
	cases := []struct {
		name   string
		err    error
		kind   failure.Kind
		after  time.Duration
		advice string
	}{
		{"too large for a batch", azservicebus.ErrMessageTooLarge, failure.Invalid, 0, ""},
		{"refused", condition(amqp.ErrCondUnauthorizedAccess), failure.Permanent, 0, "the token is refused: give the identity the role Azure Service Bus Data Sender"},
		{"refused, by the SDK", coded(azservicebus.CodeUnauthorizedAccess), failure.Permanent, 0, "the token is refused: give the identity the role Azure Service Bus Data Sender"},
		{"unknown to the SDK", io.EOF, failure.Transient, 0, ""},
		{"unknown queue", condition(amqp.ErrCondNotFound), failure.Permanent, 0, "does not exist"},
		{"unknown queue, by the SDK", coded(azservicebus.CodeNotFound), failure.Permanent, 0, "does not exist"},
		{"lock lost", condition("com.microsoft:message-lock-lost"), failure.Conflict, 0, ""},
		{"session taken", condition("com.microsoft:session-cannot-be-locked"), failure.Conflict, 0, ""},
		{"there already", condition("com.microsoft:entity-already-exists"), failure.Conflict, 0, ""},
		{"bad argument", condition("com.microsoft:argument-out-of-range"), failure.Invalid, 0, ""},
		{"lock lost, by the SDK", coded(azservicebus.CodeLockLost), failure.Conflict, 0, ""},
		{"time-out of the service", coded(azservicebus.CodeTimeout), failure.Transient, 0, ""},
		{"connection lost", coded(azservicebus.CodeConnectionLost), failure.Transient, 0, ""},
		{"closed", coded(azservicebus.CodeClosed), failure.Transient, 0, ""},
		{"a code of a later SDK", coded("later"), failure.Transient, 0, ""},
		{"busy", condition("com.microsoft:server-busy"), failure.Transient, 10 * time.Second, ""},
		{"queue is full", condition(amqp.ErrCondResourceLimitExceeded), failure.Transient, 10 * time.Second, "full"},
		{"queue is disabled", condition("com.microsoft:entity-disabled"), failure.Transient, 10 * time.Second, "enable it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := serviceBus.Fail(t.Context(), "send to queue", "q", fmt.Errorf("sdk: %w", c.err))
			if !failure.Is(err, c.kind) || failure.RetryAfter(err) != c.after || !errors.Is(err, c.err) {
				t.Errorf("got %v of kind %v, delay %v", err, failure.KindOf(err), failure.RetryAfter(err))
			}
			if text := err.Error(); !strings.Contains(text, c.advice) || !strings.HasPrefix(text, "send to queue q: ") {
				t.Errorf("got text %q", text)
			}
		})
	}
}

// Messages for one queue and one time go together, in their order.
func TestGroup(t *testing.T) {
	later := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	elsewhere := later.In(time.FixedZone("", 3600))
	m := func(queue, id string, at time.Time) engine.Queued {
		return engine.Queued{Queue: queue, MessageID: id, At: at}
	}
	var got [][]string
	for _, target := range group([]engine.Queued{
		m("a", "1", time.Time{}), m("b", "2", time.Time{}), m("a", "3", later),
		m("a", "4", time.Time{}), m("a", "5", elsewhere), m("b", "6", later),
		m("a", "7", later.Add(time.Second)),
	}) {
		var ids []string
		for _, m := range target.messages {
			if m.Queue != target.queue || !m.At.Equal(target.at) {
				t.Errorf("%+v is in the batch for %s at %v", m, target.queue, target.at)
			}
			ids = append(ids, m.MessageID)
		}
		got = append(got, ids)
	}
	if diff := cmp.Diff([][]string{{"1", "4"}, {"2"}, {"3", "5"}, {"6"}, {"7"}}, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestOpenSenderSaysWhatIsMissing(t *testing.T) {
	for _, c := range []Connection{
		{}, {Namespace: "ns.servicebus.windows.net"}, {ConnectionString: "nonsense"},
	} {
		if _, err := OpenSender(c, Options{}); err == nil {
			t.Errorf("%+v was opened", c)
		}
	}
}
