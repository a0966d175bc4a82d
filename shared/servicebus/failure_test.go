package servicebus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/message"
)

// neverError is an error of a credential that will never work.
type neverError struct{}

func (neverError) Error() string { return "no identity" }
func (neverError) NonRetriable() {}

func TestJudge(t *testing.T) {
	condition := func(c amqp.ErrCond) error { return &amqp.Error{Condition: c} }
	coded := func(c azservicebus.Code) error { return &azservicebus.Error{Code: c} }
	cases := []struct {
		name   string
		err    error
		kind   failure.Kind
		waits  bool
		advice string
	}{
		{"too large for a batch", azservicebus.ErrMessageTooLarge, failure.Invalid, false, ""},
		{"too large for a link", condition(amqp.ErrCondMessageSizeExceeded), failure.Invalid, false, ""},
		{"refused", coded(azservicebus.CodeUnauthorizedAccess), failure.Permanent, false, "Data Sender"},
		{"unknown queue", coded(azservicebus.CodeNotFound), failure.Permanent, false, "does not exist"},
		{"unknown queue, on detach", &amqp.LinkError{RemoteErr: &amqp.Error{Condition: amqp.ErrCondNotFound}}, failure.Permanent, false, "does not exist"},
		{"lock lost", coded(azservicebus.CodeLockLost), failure.Conflict, false, ""},
		{"time-out of the service", coded(azservicebus.CodeTimeout), failure.Transient, false, ""},
		{"connection lost", coded(azservicebus.CodeConnectionLost), failure.Transient, false, ""},
		{"closed", coded(azservicebus.CodeClosed), failure.Transient, false, ""},
		{"a code of a later SDK", coded("later"), failure.Transient, false, ""},
		{"busy", condition("com.microsoft:server-busy"), failure.Transient, true, ""},
		{"queue is full", condition(amqp.ErrCondResourceLimitExceeded), failure.Transient, true, "full"},
		{"queue is disabled", condition("com.microsoft:entity-disabled"), failure.Transient, true, "enable it"},
		{"not allowed", condition(amqp.ErrCondNotAllowed), failure.Permanent, false, ""},
		{"a condition nobody knows", condition("com.example:odd"), failure.Transient, false, ""},
		{"no credential", neverError{}, failure.Permanent, false, "Data Sender"},
		{"network", io.EOF, failure.Transient, false, ""},
		{"time", context.DeadlineExceeded, failure.Transient, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := judge(t.Context(), "send to queue", "q", fmt.Errorf("sdk: %w", c.err))
			if !failure.Is(err, c.kind) || (failure.RetryAfter(err) > 0) != c.waits || !errors.Is(err, c.err) {
				t.Errorf("got %v of kind %v, delay %v", err, failure.KindOf(err), failure.RetryAfter(err))
			}
			if text := err.Error(); !strings.Contains(text, c.advice) || !strings.HasPrefix(text, "send to queue q: ") {
				t.Errorf("got text %q", text)
			}
		})
	}
}

func TestJudgeTellsWhyTheContextEnded(t *testing.T) {
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := judge(ctx, "send", "q", context.Canceled); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Messages for one queue and one time go together, in their order.
func TestGroup(t *testing.T) {
	later := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	elsewhere := later.In(time.FixedZone("", 3600))
	m := func(queue, id string, at time.Time) message.Queued {
		return message.Queued{Queue: queue, MessageID: id, At: at}
	}
	var got [][]string
	for _, target := range group([]message.Queued{
		m("a", "1", time.Time{}), m("b", "2", time.Time{}), m("a", "3", later),
		m("a", "4", time.Time{}), m("a", "5", elsewhere), m("b", "6", later),
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
	if diff := cmp.Diff([][]string{{"1", "4"}, {"2"}, {"3", "5"}, {"6"}}, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for _, c := range []Connection{
		{}, {Namespace: "ns.servicebus.windows.net"}, {ConnectionString: "nonsense"},
	} {
		if _, err := Open(c, Options{}); err == nil {
			t.Errorf("%+v was opened", c)
		}
	}
}
