package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

var now = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// queue is a queue in memory. refuse may fail a send before anything is taken.
type queue struct {
	taken  []engine.Queued
	sends  int
	refuse func(messages []engine.Queued) error
}

func (q *queue) Send(_ context.Context, messages ...engine.Queued) error {
	q.sends++
	if q.refuse != nil {
		if err := q.refuse(messages); err != nil {
			return err
		}
	}
	q.taken = append(q.taken, messages...)
	return nil
}

// keeper is a quarantine in memory. fail makes it fail.
type keeper struct {
	kept []quarantine.Entry
	fail error
}

func (k *keeper) Keep(_ context.Context, e quarantine.Entry) error {
	if k.fail != nil {
		return k.fail
	}
	k.kept = append(k.kept, e)
	return nil
}

func newService(t *testing.T) (*Service, *queue, *keeper) {
	q, k := &queue{}, &keeper{}
	return New(Config{
		Queue: "deliveries-queue", Sender: q, Quarantine: k, Checkpoints: &checkpoints{stored: map[string]Checkpoint{}}, Reader: &hub{},
		Hub: "requests", ConsumerGroup: "relay", Quiet: 2 * time.Minute, Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}), q, k
}

func good(t *testing.T, n int64) Event {
	t.Helper()
	body, err := engine.Envelope{
		TransactionID: fmt.Sprintf("t-%d", n), OperationID: fmt.Sprintf("o-%d", n), Operation: "start",
		AcceptedAt: time.Unix(n, 0).UTC(), TraceParent: fmt.Sprintf("trace-%d", n), Body: json.RawMessage(`{"n":1}`),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return Event{SequenceNumber: n, Body: body}
}

func batch(events ...Event) Batch {
	return Batch{Hub: "requests", ConsumerGroup: "relay", Partition: "3", Events: events}
}

func ids(messages []engine.Queued) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.MessageID)
	}
	return out
}

func TestEveryEventBecomesAMessage(t *testing.T) {
	s, q, k := newService(t)
	b := batch(good(t, 1), good(t, 2))
	if err := s.Relay(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	want := []engine.Queued{
		{Queue: "deliveries-queue", MessageID: "o-1", Body: b.Events[0].Body, TraceParent: "trace-1"},
		{Queue: "deliveries-queue", MessageID: "o-2", Body: b.Events[1].Body, TraceParent: "trace-2"},
	}
	if diff := cmp.Diff(want, q.taken); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if q.sends != 1 || len(k.kept) != 0 {
		t.Errorf("%d sends, %d kept; want one send", q.sends, len(k.kept))
	}
}

// A bad event between two good ones is kept with its own content, and they go
// on.
func TestUnreadableEventsAreKeptAlone(t *testing.T) {
	s, q, k := newService(t)
	first, second, third := good(t, 1), good(t, 3), good(t, 5)
	unknown := []byte(`{"schema":1,"transactionId":"t-4","operation":"teleport"}`)
	b := batch(first,
		Event{SequenceNumber: 2, Body: []byte("\xff\xfe"), Properties: map[string]any{"from": "elsewhere"}},
		second,
		Event{SequenceNumber: 4, Body: unknown},
		third)
	if err := s.Relay(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"o-1", "o-3", "o-5"}, ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	want := []quarantine.Entry{
		{
			Source: "requests.3", SequenceNumber: 2, Reason: quarantine.ReasonUnreadable,
			Body: "//4=", Encoding: quarantine.Base64, Properties: map[string]any{"from": "elsewhere"},
		},
		{
			Source: "requests.3", SequenceNumber: 4, Reason: quarantine.ReasonUnreadable,
			Body: string(unknown), TransactionID: "t-4",
		},
	}
	for i := range k.kept {
		if k.kept[i].Detail == "" {
			t.Errorf("entry %d has no detail", i)
		}
		k.kept[i].Detail = ""
	}
	if diff := cmp.Diff(want, k.kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestWakeOnTheHubIsUnreadable(t *testing.T) {
	s, q, k := newService(t)
	wake := Event{SequenceNumber: 9, Body: []byte(`{"schema":1,"transactionId":"t-1","wake":1}`)}
	if err := s.Relay(t.Context(), batch(wake)); err != nil {
		t.Fatal(err)
	}
	if q.sends != 0 || len(k.kept) != 1 || k.kept[0].TransactionID != "t-1" {
		t.Errorf("%d sends, kept %+v", q.sends, k.kept)
	}
}

func TestNewerSchemaIsRetriedAndTheRestGoesOn(t *testing.T) {
	s, q, k := newService(t)
	newer := Event{SequenceNumber: 2, Body: fmt.Appendf(nil, `{"schema":%d}`, engine.EnvelopeSchema+1)}
	err := s.Relay(t.Context(), batch(good(t, 1), newer, good(t, 3)))
	if !errors.Is(err, engine.ErrNewerSchema) {
		t.Errorf("got %v, want ErrNewerSchema", err)
	}
	if diff := cmp.Diff([]string{"o-1", "o-3"}, ids(q.taken)); diff != "" || len(k.kept) != 0 {
		t.Errorf("kept %+v, messages (-want +got):\n%s", k.kept, diff)
	}
}

func TestNothingIsDoneBeforeAllIsDurable(t *testing.T) {
	down := failure.New(failure.Transient, "test", "", errors.New("down"))
	cases := map[string]func(*queue, *keeper){
		"the queue":      func(q *queue, _ *keeper) { q.refuse = func([]engine.Queued) error { return down } },
		"the quarantine": func(_ *queue, k *keeper) { k.fail = down },
	}
	for name, broken := range cases {
		t.Run(name, func(t *testing.T) {
			s, q, k := newService(t)
			broken(q, k)
			b := batch(good(t, 1), Event{SequenceNumber: 2, Body: []byte("?")})
			if err := s.Relay(t.Context(), b); !errors.Is(err, down) {
				t.Errorf("got %v, want the error of %s", err, name)
			}
		})
	}
}

// One message that the queue never takes does not block its partition.
func TestTooLargeMessageIsKeptAlone(t *testing.T) {
	tooLarge := failure.New(failure.Invalid, "send", "", errors.New("too large"))
	s, q, k := newService(t)
	q.refuse = func(messages []engine.Queued) error {
		for _, m := range messages {
			if m.MessageID == "o-2" {
				return tooLarge
			}
		}
		return nil
	}
	large := good(t, 2)
	if err := s.Relay(t.Context(), batch(good(t, 1), large, good(t, 3))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"o-1", "o-3"}, ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if len(k.kept) != 1 || k.kept[0].SequenceNumber != 2 || k.kept[0].Body != string(large.Body) ||
		k.kept[0].TransactionID != "t-2" || k.kept[0].Reason != ReasonTooLarge {
		t.Errorf("kept %+v", k.kept)
	}
	k.fail = failure.New(failure.Transient, "keep", "", errors.New("down"))
	if err := s.Relay(t.Context(), batch(large)); !errors.Is(err, k.fail) {
		t.Errorf("quarantine down: %v", err)
	}
}

func TestEmptyBatch(t *testing.T) {
	s, q, _ := newService(t)
	if err := s.Relay(t.Context(), batch()); err != nil || q.sends != 0 {
		t.Errorf("got %v after %d sends", err, q.sends)
	}
}
