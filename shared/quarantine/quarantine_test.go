package quarantine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/quarantine/quarantinetest"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

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

func newService(t *testing.T) (*quarantine.Service, *quarantinetest.Memory, *waker) {
	store, w := quarantinetest.NewMemory(nil), &waker{woken: map[string]int{}}
	return quarantine.New(quarantine.Config{
		Store: store, Waker: w, Keep: 30 * 24 * time.Hour, Now: func() time.Time { return noon },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}), store, w
}

// read returns the only entry of a number.
func read(t *testing.T, store *quarantinetest.Memory, source string, n int64) quarantine.Entry {
	t.Helper()
	all := slices.DeleteFunc(store.All(), func(e quarantine.Entry) bool { return e.Source != source || e.SequenceNumber != n })
	if len(all) != 1 || !quarantine.ValidEntryID(source, all[0].ID) {
		t.Fatalf("%d entries for %s.%d: %+v", len(all), source, n, all)
	}
	return all[0]
}

func TestMemory(t *testing.T) {
	quarantinetest.StoreSuite(t, func(*testing.T) quarantine.Store { return quarantinetest.NewMemory(nil) })
}

func TestWhatIsTooLargeIsKeptWithoutItsBody(t *testing.T) {
	s, store, _ := newService(t)
	store.Limit = 8
	m := quarantine.Received{Queue: "transactions", SequenceNumber: 7, Reason: quarantine.ReasonUnreadable, Description: "no envelope",
		Body: []byte("123456789"), Properties: map[string]any{"a": "b"}}
	if err := s.Poison(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	e := read(t, store, "transactions", 7)
	if e.Body != "" || e.Properties != nil || e.Reason != quarantine.ReasonUnreadable ||
		e.Detail != "no envelope (not kept, since it is too large: the body of 9 bytes with 1 properties)" {
		t.Errorf("got %+v", e)
	}
}

// Ensure every entry leaves room for what operators do, whatever was sent: the
// largest event is kept whole, and properties that JSON makes longer are not.
func TestEntriesAreBounded(t *testing.T) {
	const largest = 1 << 20 // an event, or a message of the premium tier
	for name, tt := range map[string]struct {
		body       []byte
		properties map[string]any
		kept       bool
	}{
		"bytes":      {bytes.Repeat([]byte{0xff}, largest), nil, true},
		"text":       {bytes.Repeat([]byte("<"), largest), nil, true},
		"short text": {bytes.Repeat([]byte("<"), 224<<10), nil, true},
		"properties": {[]byte("x"), map[string]any{"a": strings.Repeat("<", largest)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, store, _ := newService(t)
			m := quarantine.Received{Queue: "transactions", SequenceNumber: 7, Reason: quarantine.ReasonUnreadable, Body: tt.body, Properties: tt.properties}
			if err := s.Poison(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			e := read(t, store, "transactions", 7)
			body, err := e.Bytes()
			if err != nil || bytes.Equal(body, tt.body) != tt.kept {
				t.Errorf("%d bytes of the body, %v", len(body), err)
			}
			for n := range 2 * quarantine.MaxActs {
				e.Begin(quarantine.Act{At: noon.Add(time.Duration(n)), Act: quarantine.ActRedrive, By: strings.Repeat("ö", 128), Why: strings.Repeat("ö", 1000)})
			}
			if stored, err := json.Marshal(e); err != nil || len(stored) > 1536<<10 {
				t.Errorf("%d bytes, %v", len(stored), err)
			}
		})
	}
}

func TestDeadLetterKeepsThenWakes(t *testing.T) {
	s, store, w := newService(t)
	m := quarantine.Received{
		Queue: "transactions", MessageID: "o-1", SequenceNumber: 7, Reason: "MaxDeliveryCountExceeded",
		Description: "10 times", Body: []byte(`{"transactionId":"t-1"}`), Properties: map[string]any{"a": "b"},
	}
	if err := s.DeadLetter(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := []quarantine.Entry{{
		ID: "transactions.deadletter.7.c522322f9f47", Source: "transactions.deadletter", SequenceNumber: 7,
		Reason: "MaxDeliveryCountExceeded", Detail: "10 times", Body: `{"transactionId":"t-1"}`,
		Properties: map[string]any{"a": "b"}, TransactionID: "t-1", MessageID: "o-1",
		At: noon, State: quarantine.Kept, TTL: 30 * 24 * 3600,
	}}
	if diff := cmp.Diff(want, store.All()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if w.woken["t-1"] != 1 {
		t.Errorf("woken: %v", w.woken)
	}
}

// Ensure that a message is kept once however often it comes, one that is too large
// included, and that another with its number, of a queue that was created anew, is
// not taken for it, whatever an operator has made of the first.
func TestEachMessageIsKeptOnce(t *testing.T) {
	s, store, _ := newService(t)
	store.Limit = 8
	messages := []quarantine.Received{
		{Queue: "q", SequenceNumber: 1, MessageID: "o-1", Body: []byte("x")},
		{Queue: "q", SequenceNumber: 1, MessageID: "o-1", Body: []byte("y")},
		{Queue: "q", SequenceNumber: 1, MessageID: "o-2", Body: []byte("x")},
		{Queue: "q", SequenceNumber: 1, MessageID: "o-1", Body: []byte("too large for it")},
		{Queue: "q", SequenceNumber: 1, MessageID: "o-1", Body: []byte("too large as well")},
	}
	for n, m := range messages {
		for range 3 {
			if err := s.DeadLetter(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		all := store.All()
		if len(all) != n+1 {
			t.Fatalf("%d entries after %d messages: %+v", len(all), n+1, all)
		}
		for _, e := range all {
			if !quarantine.ValidEntryID(e.Source, e.ID) {
				t.Errorf("%s can't be asked for", e.ID)
			}
		}
		if n > 0 {
			continue
		}
		e, etag, err := store.Read(t.Context(), all[0].Source, all[0].ID)
		e.State = quarantine.Dropped
		if err := errors.Join(err, store.Replace(t.Context(), e, etag)); err != nil {
			t.Fatal(err)
		}
	}
	kept := slices.DeleteFunc(store.All(), func(e quarantine.Entry) bool { return e.State != quarantine.Kept })
	if len(kept) != len(messages)-1 {
		t.Errorf("%d entries wait for an operator, want %d", len(kept), len(messages)-1)
	}
}

func TestDeadLetterFindsTheTransaction(t *testing.T) {
	cases := []struct {
		name, messageID, body, want string
	}{
		{"a readable envelope", "o-1", `{"schema":1,"transactionId":"t-1","wake":1}`, "t-1"},
		{"a newer schema", "o-1", `{"schema":99,"transactionId":"t-1"}`, "t-1"},
		{"an unreadable body with a wake's id", "t-1/transactions/3", "\xff", "t-1"},
		{"an unreadable body with an operation's id", "o-1", "\xff", ""},
		{"an id that is none", "o-1", `{"transactionId":"a/b"}`, ""},
		{"a wake's id with an id that is none", "t 1/transactions/3", "{}", ""},
		{"nothing at all", "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _, w := newService(t)
			if err := s.DeadLetter(t.Context(), quarantine.Received{Queue: "q", MessageID: c.messageID, Body: []byte(c.body)}); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(w.woken) > 0 || c.want != "" && w.woken[c.want] != 1 {
				t.Errorf("woken: %v, want %q", w.woken, c.want)
			}
		})
	}
}

func TestDeadLetterFails(t *testing.T) {
	down := errors.New("down")
	m := quarantine.Received{Queue: "q", Body: []byte(`{"transactionId":"t-1"}`)}

	s, store, w := newService(t)
	store.Gate.Decide = func(string, int) workflowtest.Fate { return workflowtest.Refuse }
	if err := s.DeadLetter(t.Context(), m); !errors.Is(err, workflowtest.ErrFate) || len(w.woken) > 0 {
		t.Errorf("store down: %v, woken %v", err, w.woken)
	}
	store.Gate.Decide, w.fail = nil, down
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
	m := quarantine.Received{Queue: "transactions", SequenceNumber: 3, Reason: quarantine.ReasonUnreadable, Body: []byte(`{"transactionId":"t-1"}`)}
	if err := s.Poison(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if e := read(t, store, "transactions", 3); e.Reason != quarantine.ReasonUnreadable || e.TransactionID != "t-1" || len(w.woken) > 0 {
		t.Errorf("entry %+v, woken %v", e, w.woken)
	}
}

func TestReasonIsNeverEmpty(t *testing.T) {
	s, store, _ := newService(t)
	if err := s.Poison(t.Context(), quarantine.Received{Queue: "q"}); err != nil {
		t.Fatal(err)
	}
	if e := read(t, store, "q", 0); e.Reason != quarantine.ReasonUnknown {
		t.Errorf("reason %q", e.Reason)
	}
}

func TestBodySurvives(t *testing.T) {
	for body, encoding := range map[string]string{
		"": "", "text": "", "lines\r\n\tof <&> text\u2028": "", "\xff\x00binary": quarantine.Base64, "\x00\x01\x02": quarantine.Base64,
	} {
		var e quarantine.Entry
		e.SetBody([]byte(body))
		got, err := e.Bytes()
		if err != nil || string(got) != body || e.Encoding != encoding {
			t.Errorf("%q came back as %q, encoded as %q, %v", body, got, e.Encoding, err)
		}
	}
	for _, e := range []quarantine.Entry{{Body: "!", Encoding: quarantine.Base64}, {Encoding: "gzip"}} {
		if _, err := e.Bytes(); err == nil {
			t.Errorf("%+v was read", e)
		}
	}
}

// TestKeptIsTold has an entry told of once it is stored, and logged without what
// was sent: the detail may quote it.
func TestKeptIsTold(t *testing.T) {
	var log strings.Builder
	var kept []quarantine.Entry
	s := quarantine.New(quarantine.Config{
		Store: quarantinetest.NewMemory(nil), Now: func() time.Time { return noon }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Kept: func(_ context.Context, e quarantine.Entry) { kept = append(kept, e) },
	})
	m := quarantine.Received{Queue: "transactions", SequenceNumber: 7, Reason: quarantine.ReasonUnreadable, Description: "secret detail", Body: []byte("secret body")}
	if err := s.Poison(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || !strings.HasPrefix(kept[0].ID, "transactions.7.") {
		t.Errorf("told of %+v", kept)
	}
	if text := log.String(); !strings.Contains(text, `level=WARN msg="message quarantined" source=transactions`) || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}
