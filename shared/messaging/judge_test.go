package messaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// neverError is an error of a credential that will never work.
type neverError struct{}

func (neverError) Error() string { return "no identity" }
func (neverError) NonRetriable() {}

// codedError is an error of an SDK, which wraps what it was made of.
type codedError struct{ cause error }

func (e codedError) Error() string { return "coded" }
func (e codedError) Unwrap() error { return e.cause }

func testJudge() *judge {
	return &judge{
		Refused: "refused", Absent: "absent", Full: "full", Disabled: "disabled", Busy: 7 * time.Second,
		Conditions: map[amqp.ErrCond]verdict{
			"com.example:own":              {Kind: failure.Conflict, Advice: "own"},
			"com.microsoft:argument-error": {Kind: failure.Permanent},
		},
		SDK: func(err error) (verdict, bool) {
			var coded codedError
			return verdict{Kind: failure.Conflict, Advice: "by the SDK"}, errors.As(err, &coded)
		},
	}
}

func TestFail(t *testing.T) {
	condition := func(c amqp.ErrCond) error { return &amqp.Error{Condition: c} }
	cases := []struct {
		name   string
		err    error
		kind   failure.Kind
		after  time.Duration
		advice string
	}{
		{"refused", condition(amqp.ErrCondUnauthorizedAccess), failure.Permanent, 0, "refused: "},
		{"absent", condition(amqp.ErrCondNotFound), failure.Permanent, 0, "absent: "},
		{"absent, on detach", &amqp.LinkError{RemoteErr: &amqp.Error{Condition: amqp.ErrCondNotFound}}, failure.Permanent, 0, "absent: "},
		{"too large for a link", condition(amqp.ErrCondMessageSizeExceeded), failure.Invalid, 0, ""},
		{"malformed", condition(amqp.ErrCondDecodeError), failure.Invalid, 0, ""},
		{"not allowed", condition(amqp.ErrCondNotAllowed), failure.Permanent, 0, ""},
		{"full", condition(amqp.ErrCondResourceLimitExceeded), failure.Transient, 7 * time.Second, "full: "},
		{"disabled", condition("com.microsoft:entity-disabled"), failure.Transient, 7 * time.Second, "disabled: "},
		{"busy", condition("com.microsoft:server-busy"), failure.Transient, 7 * time.Second, ""},
		{"cancelled", condition("com.microsoft:operation-cancelled"), failure.Transient, 0, ""},
		{"time-out of the service", condition("com.microsoft:timeout"), failure.Transient, 0, ""},
		{"the service's own", condition("com.example:own"), failure.Conflict, 0, "own: "},
		{"meant differently by the service", condition("com.microsoft:argument-error"), failure.Permanent, 0, ""},
		{"a condition nobody knows", condition("com.example:odd"), failure.Transient, 0, ""},
		{"of the SDK", codedError{io.EOF}, failure.Conflict, 0, "by the SDK: "},
		{"of the SDK, with a condition", codedError{condition(amqp.ErrCondNotFound)}, failure.Permanent, 0, "absent: "},
		{"of the SDK, with a condition nobody knows", codedError{condition("com.example:odd")}, failure.Conflict, 0, "by the SDK: "},
		{"no credential", neverError{}, failure.Permanent, 0, "refused: "},
		{"of the SDK, for want of a credential", codedError{neverError{}}, failure.Conflict, 0, "by the SDK: "},
		{"network", io.EOF, failure.Transient, 0, ""},
		{"time", context.DeadlineExceeded, failure.Transient, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := testJudge().Fail(t.Context(), "send to", "q", fmt.Errorf("sdk: %w", c.err))
			if !failure.Is(err, c.kind) || failure.RetryAfter(err) != c.after || !errors.Is(err, c.err) {
				t.Errorf("got %v of kind %v, delay %v", err, failure.KindOf(err), failure.RetryAfter(err))
			}
			if text := err.Error(); !strings.HasPrefix(text, "send to q: "+c.advice+"sdk: ") {
				t.Errorf("got text %q", text)
			}
		})
	}
}

func TestFailTellsWhyTheContextEnded(t *testing.T) {
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := testJudge().Fail(ctx, "send", "q", context.Canceled); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
