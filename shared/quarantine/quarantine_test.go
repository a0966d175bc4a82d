package quarantine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// memory is a Store in memory. fail makes Put fail, limit refuses bodies that are
// larger, if it is not 0.
type memory struct {
	entries map[string]Entry
	fail    error
	limit   int
}

func (m *memory) Put(_ context.Context, e Entry) error {
	if m.fail != nil {
		return m.fail
	}
	if m.limit > 0 && len(e.Body) > m.limit {
		return failure.New(failure.Invalid, "put entry", e.ID, nil)
	}
	if _, ok := m.entries[e.ID]; !ok {
		m.entries[e.ID] = e
	}
	return nil
}

func (m *memory) Read(_ context.Context, source, id string) (Entry, error) {
	if e, ok := m.entries[id]; ok && e.Source == source {
		return e, nil
	}
	return Entry{}, failure.New(failure.NotFound, "read entry", id, nil)
}

func (m *memory) Page(_ context.Context, f Filter, _ string) ([]Entry, string, error) {
	var out []Entry
	for _, e := range m.entries {
		if (f.Source == "" || f.Source == e.Source) && (f.Reason == "" || f.Reason == e.Reason) {
			out = append(out, e)
		}
	}
	return out, "", nil
}

// waker counts the wakes by transaction. fail makes it fail.
type waker struct {
	woken map[string]int
	fail  error
}

func (w *waker) DeadLettered(_ context.Context, id string, _ []byte) error {
	if w.fail != nil {
		return w.fail
	}
	w.woken[id]++
	return nil
}

func newService(t *testing.T) (*Service, *memory, *waker) {
	store, w := &memory{entries: map[string]Entry{}}, &waker{woken: map[string]int{}}
	return New(Config{
		Store: store, Waker: w, Now: func() time.Time { return noon },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}), store, w
}

func TestWhatIsTooLargeIsKeptWithoutItsBody(t *testing.T) {
	s, store, _ := newService(t)
	store.limit = 8
	m := Message{Queue: "deliveries", SequenceNumber: 7, Reason: ReasonUnreadable, Description: "no envelope",
		Body: []byte("123456789"), Properties: map[string]any{"a": "b"}}
	if err := s.Poison(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	e := store.entries["deliveries.7"]
	if e.Body != "" || e.Properties != nil || e.Reason != ReasonUnreadable ||
		e.Detail != "no envelope (not kept, since it is too large: the body of 9 bytes with 1 properties)" {
		t.Errorf("got %+v", e)
	}
}

func TestDeadLetterKeepsThenWakes(t *testing.T) {
	s, store, w := newService(t)
	m := Message{
		Queue: "deliveries", MessageID: "o-1", SequenceNumber: 7, Reason: "MaxDeliveryCountExceeded",
		Description: "10 times", Body: []byte(`{"transactionId":"t-1"}`), Properties: map[string]any{"a": "b"},
	}
	if err := s.DeadLetter(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := map[string]Entry{"deliveries.deadletter.7": {
		ID: "deliveries.deadletter.7", Source: "deliveries.deadletter", SequenceNumber: 7,
		Reason: "MaxDeliveryCountExceeded", Detail: "10 times", Body: `{"transactionId":"t-1"}`,
		Properties: map[string]any{"a": "b"}, TransactionID: "t-1", MessageID: "o-1",
		At: noon, TTL: 30 * 24 * 3600,
	}}
	if diff := cmp.Diff(want, store.entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if w.woken["t-1"] != 1 {
		t.Errorf("woken: %v", w.woken)
	}
}

func TestDeadLetterTwiceLeavesOneEntry(t *testing.T) {
	s, store, _ := newService(t)
	for range 2 {
		if err := s.DeadLetter(t.Context(), Message{Queue: "q", SequenceNumber: 1, Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if len(store.entries) != 1 {
		t.Errorf("%d entries", len(store.entries))
	}
}

func TestDeadLetterFindsTheTransaction(t *testing.T) {
	cases := []struct {
		name, messageID, body, want string
	}{
		{"a readable envelope", "o-1", `{"schema":1,"transactionId":"t-1","wake":1}`, "t-1"},
		{"a newer schema", "o-1", `{"schema":99,"transactionId":"t-1"}`, "t-1"},
		{"an unreadable body with a wake's id", "t-1/deliveries/3", "\xff", "t-1"},
		{"an unreadable body with an operation's id", "o-1", "\xff", ""},
		{"an id that is none", "o-1", `{"transactionId":"a/b"}`, ""},
		{"a wake's id with an id that is none", "t 1/deliveries/3", "{}", ""},
		{"nothing at all", "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _, w := newService(t)
			if err := s.DeadLetter(t.Context(), Message{Queue: "q", MessageID: c.messageID, Body: []byte(c.body)}); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(w.woken) > 0 || c.want != "" && w.woken[c.want] != 1 {
				t.Errorf("woken: %v, want %q", w.woken, c.want)
			}
		})
	}
}

func TestDeadLetterFails(t *testing.T) {
	down := failure.New(failure.Transient, "test", "", errors.New("down"))
	m := Message{Queue: "q", Body: []byte(`{"transactionId":"t-1"}`)}

	s, store, w := newService(t)
	store.fail = down
	if err := s.DeadLetter(t.Context(), m); !errors.Is(err, down) || len(w.woken) > 0 {
		t.Errorf("store down: %v, woken %v", err, w.woken)
	}
	store.fail, w.fail = nil, down
	if err := s.DeadLetter(t.Context(), m); !errors.Is(err, down) {
		t.Errorf("waker down: %v", err)
	}
	w.fail = nil
	if err := s.DeadLetter(t.Context(), m); err != nil || w.woken["t-1"] != 1 {
		t.Errorf("repeat: %v, woken %v", err, w.woken)
	}
}

func TestPoisonIsKeptUnderItsQueueAndNotWoken(t *testing.T) {
	s, store, w := newService(t)
	m := Message{Queue: "deliveries", SequenceNumber: 3, Reason: ReasonUnreadable, Body: []byte(`{"transactionId":"t-1"}`)}
	if err := s.Poison(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	e, err := store.Read(t.Context(), "deliveries", "deliveries.3")
	if err != nil || e.Reason != ReasonUnreadable || e.TransactionID != "t-1" || len(w.woken) > 0 {
		t.Errorf("entry %+v, %v, woken %v", e, err, w.woken)
	}
}

func TestReasonIsNeverEmpty(t *testing.T) {
	s, store, _ := newService(t)
	if err := s.Poison(t.Context(), Message{Queue: "q"}); err != nil {
		t.Fatal(err)
	}
	if e := store.entries["q.0"]; e.Reason != ReasonUnknown {
		t.Errorf("reason %q", e.Reason)
	}
}

func TestBodySurvives(t *testing.T) {
	for body, encoding := range map[string]string{
		"": "", "text": "", "lines\r\n\tof <&> text\u2028": "", "\xff\x00binary": Base64, "\x00\x01\x02": Base64,
	} {
		var e Entry
		e.SetBody([]byte(body))
		got, err := e.Bytes()
		if err != nil || string(got) != body || e.Encoding != encoding {
			t.Errorf("%q came back as %q, encoded as %q, %v", body, got, e.Encoding, err)
		}
	}
	for _, e := range []Entry{{Body: "!", Encoding: Base64}, {Encoding: "gzip"}} {
		if _, err := e.Bytes(); err == nil {
			t.Errorf("%+v was read", e)
		}
	}
}
