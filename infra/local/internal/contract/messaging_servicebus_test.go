package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
)

// Ensure the messages of a batch are numbered in their order. They may be received
// in another: the SDK gives back what comes between two calls.
func TestServiceBusBatch(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	s, r := newSender(t, c), newReceiver(t, c, nil)
	batch, err := s.NewMessageBatch(testContext(t), nil)
	must(t, "new batch", err)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("%d%s", i, strings.Repeat("x", 1500)))
		must(t, "add", batch.AddMessage(text(want[i]), nil))
	}
	must(t, "send batch", s.SendMessageBatch(testContext(t), batch, nil))
	seen := map[int64]bool{}
	for _, msg := range receive(t, r, 100) {
		n := *msg.SequenceNumber
		if n < 1 || n > 100 || seen[n] || string(msg.Body) != want[n-1] || msg.DeliveryCount != 1 || msg.MessageID == "" {
			t.Fatalf("number %d, delivery %d, id %q, body %.10s", n, msg.DeliveryCount, msg.MessageID, msg.Body)
		}
		seen[n] = true
		must(t, "complete", r.CompleteMessage(testContext(t), msg, nil))
	}
	if got := m.Stats().Queues[0]; got != (broker.QueueStats{Name: queueName}) {
		t.Errorf("left over: %+v", got)
	}
}

func TestServiceBusKeepsTheMessage(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	id, subject, contentType, correlation, key, ttl := "id", "subject", "application/json", "correlation", "key", time.Hour
	send(t, newSender(t, c), &azservicebus.Message{
		Body: []byte("{}"), MessageID: &id, Subject: &subject, ContentType: &contentType, CorrelationID: &correlation,
		PartitionKey: &key, TimeToLive: &ttl,
		ApplicationProperties: map[string]any{"s": "text", "n": int64(7), "b": true},
	})
	msg := receiveOne(t, newReceiver(t, c, nil))
	if msg.MessageID != id || *msg.Subject != subject || *msg.ContentType != contentType || *msg.CorrelationID != correlation ||
		*msg.PartitionKey != key || *msg.TimeToLive != ttl || string(msg.Body) != "{}" {
		t.Errorf("got %+v", msg)
	}
	if p := msg.ApplicationProperties; p["s"] != "text" || p["n"] != int64(7) || p["b"] != true {
		t.Errorf("application properties: %v", p)
	}
	if !msg.ExpiresAt.Equal(msg.EnqueuedTime.Add(ttl)) || msg.LockedUntil.Sub(*msg.EnqueuedTime) < 50*time.Second {
		t.Errorf("enqueued %v, expires %v, locked until %v", msg.EnqueuedTime, msg.ExpiresAt, msg.LockedUntil)
	}
}

func TestServiceBusAbandonUntilDeadLetter(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	send(t, newSender(t, c), text("poison"))
	r := newReceiver(t, c, nil)
	for i := range 3 {
		msg := receiveOne(t, r)
		if msg.DeliveryCount != uint32(i+1) || i > 0 && msg.ApplicationProperties["attempt"] != int64(i-1) {
			t.Fatalf("delivery %d: count %d, properties %v", i+1, msg.DeliveryCount, msg.ApplicationProperties)
		}
		must(t, "abandon", r.AbandonMessage(testContext(t), msg, &azservicebus.AbandonMessageOptions{
			PropertiesToModify: map[string]any{"attempt": int64(i)},
		}))
	}
	msg := receiveOne(t, deadLetters(t, c))
	if *msg.DeadLetterReason != "MaxDeliveryCountExceeded" || *msg.DeadLetterSource != queueName ||
		*msg.SequenceNumber != 1 || string(msg.Body) != "poison" || msg.ApplicationProperties["attempt"] != int64(2) {
		t.Errorf("dead letter: reason %q, source %q, %+v", *msg.DeadLetterReason, *msg.DeadLetterSource, msg)
	}
}

func TestServiceBusDeadLetter(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	send(t, newSender(t, c), text("bad"))
	r, dead := newReceiver(t, c, nil), deadLetters(t, c)
	must(t, "abandon", r.AbandonMessage(testContext(t), receiveOne(t, r), nil))
	reason, description := "unreadable", "no JSON"
	must(t, "dead-letter", r.DeadLetterMessage(testContext(t), receiveOne(t, r), &azservicebus.DeadLetterOptions{
		Reason: &reason, ErrorDescription: &description, PropertiesToModify: map[string]any{"by": "test"},
	}))
	for range 2 { // abandoning doesn't count in the dead-letter sub-queue
		msg := receiveOne(t, dead)
		if *msg.DeadLetterReason != reason || *msg.DeadLetterErrorDescription != description ||
			msg.DeliveryCount != 2 || msg.ApplicationProperties["by"] != "test" {
			t.Fatalf("dead letter: %+v", msg)
		}
		must(t, "abandon", dead.AbandonMessage(testContext(t), msg, nil))
	}
	must(t, "complete", dead.CompleteMessage(testContext(t), receiveOne(t, dead), nil))
}

func TestServiceBusDefer(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	s, r := newSender(t, c), newReceiver(t, c, nil)
	send(t, s, text("later"), text("now"))
	first := receiveOne(t, r)
	must(t, "defer", r.DeferMessage(testContext(t), first, &azservicebus.DeferMessageOptions{
		PropertiesToModify: map[string]any{"deferred": true},
	}))
	if msg := receiveOne(t, r); string(msg.Body) != "now" {
		t.Fatalf("received %q", msg.Body)
	}
	got, err := r.ReceiveDeferredMessages(testContext(t), []int64{*first.SequenceNumber}, nil)
	must(t, "receive deferred", err)
	if len(got) != 1 || string(got[0].Body) != "later" || got[0].State != azservicebus.MessageStateDeferred ||
		got[0].ApplicationProperties["deferred"] != true {
		t.Fatalf("deferred: %+v", got)
	}
	must(t, "complete", r.CompleteMessage(testContext(t), got[0], nil))
	if _, err := r.ReceiveDeferredMessages(testContext(t), []int64{*first.SequenceNumber}, nil); err == nil {
		t.Error("a completed message could be received again")
	}
}

func TestServiceBusLockExpiresAndRenews(t *testing.T) {
	t.Parallel()
	cfg := messagingConfig()
	cfg.Queues[0].LockDuration = 1500 * time.Millisecond
	c := startMessaging(t, cfg).serviceBus(t)
	send(t, newSender(t, c), text("slow"))
	r := newReceiver(t, c, nil)
	first := receiveOne(t, r)
	end := *first.LockedUntil
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for first.LockedUntil.Sub(end) < 1500*time.Millisecond { // longer than one lock
		<-ticker.C
		must(t, "renew", r.RenewMessageLock(testContext(t), first, nil))
	}
	second := receiveOne(t, r) // comes when the lock has run out
	if second.DeliveryCount != 2 || second.SequenceNumber == nil || *second.SequenceNumber != *first.SequenceNumber {
		t.Errorf("second delivery: %+v", second)
	}
	var e *azservicebus.Error
	if err := r.CompleteMessage(testContext(t), first, nil); !errors.As(err, &e) || e.Code != azservicebus.CodeLockLost {
		t.Errorf("complete with a lost lock: %v", err)
	}
	if err := r.RenewMessageLock(testContext(t), first, nil); !errors.As(err, &e) || e.Code != azservicebus.CodeLockLost {
		t.Errorf("renew a lost lock: %v", err)
	}
}

func TestServiceBusSettlesAfterItsLinkIsGone(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	send(t, newSender(t, c), text("one"))
	gone := newReceiver(t, c, nil)
	msg := receiveOne(t, gone)
	must(t, "close", gone.Close(testContext(t)))
	must(t, "complete", newReceiver(t, m.serviceBus(t), nil).CompleteMessage(testContext(t), msg, nil))
	m.emptied(t)
}

func TestServiceBusSchedule(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	s, r := newSender(t, c), newReceiver(t, c, nil)
	at := time.Now().Add(2 * time.Second)
	send(t, s, &azservicebus.Message{Body: []byte("by property"), ScheduledEnqueueTime: &at})
	seqs, err := s.ScheduleMessages(testContext(t), []*azservicebus.Message{text("by request"), text("cancelled")}, at, nil)
	must(t, "schedule", err)
	if !slices.Equal(seqs, []int64{2, 3}) || m.Stats().Queues[0].Scheduled != 3 {
		t.Fatalf("numbers %v, counts %+v", seqs, m.Stats().Queues[0])
	}
	must(t, "cancel", s.CancelScheduledMessages(testContext(t), seqs[1:], nil))
	peeked, err := r.PeekMessages(testContext(t), 5, nil)
	must(t, "peek", err)
	if len(peeked) != 2 || peeked[0].State != azservicebus.MessageStateScheduled {
		t.Fatalf("peeked %+v", peeked)
	}
	got := receive(t, r, 2)
	if string(got[0].Body) != "by property" || string(got[1].Body) != "by request" || time.Now().Before(at.Truncate(time.Millisecond)) {
		t.Errorf("received %q, %q", got[0].Body, got[1].Body)
	}
	if *got[0].SequenceNumber != 4 || *got[1].SequenceNumber != 5 {
		t.Errorf("numbers %d, %d: a scheduled message gets a new one", *got[0].SequenceNumber, *got[1].SequenceNumber)
	}
	if err := s.CancelScheduledMessages(testContext(t), seqs[1:], nil); err == nil {
		t.Error("a cancelled message could be cancelled again")
	}
}

func TestServiceBusDuplicates(t *testing.T) {
	t.Parallel()
	cfg := messagingConfig()
	cfg.Queues[0].DuplicateWindow = 10 * time.Minute
	m := startMessaging(t, cfg)
	c := m.serviceBus(t)
	s, r := newSender(t, c), newReceiver(t, c, nil)
	id := "wake-1"
	once := func() *azservicebus.Message { return &azservicebus.Message{Body: []byte("x"), MessageID: &id} }
	send(t, s, once(), once())
	must(t, "complete", r.CompleteMessage(testContext(t), receiveOne(t, r), nil))
	send(t, s, once())
	_, err := s.ScheduleMessages(testContext(t), []*azservicebus.Message{once()}, time.Now().Add(time.Hour), nil)
	must(t, "schedule", err)
	if got := m.Stats().Queues[0]; got != (broker.QueueStats{Name: queueName}) {
		t.Errorf("duplicates are there: %+v", got)
	}
}

func TestServiceBusTimeToLive(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	ttl := 50 * time.Millisecond
	send(t, newSender(t, c), &azservicebus.Message{Body: []byte("stale"), TimeToLive: &ttl})
	if msg := receiveOne(t, deadLetters(t, c)); *msg.DeadLetterReason != "TTLExpiredException" {
		t.Errorf("reason %q", *msg.DeadLetterReason)
	}
}

func TestServiceBusPeek(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	s, r := newSender(t, c), newReceiver(t, c, nil)
	if got, err := r.PeekMessages(testContext(t), 5, nil); err != nil || len(got) != 0 {
		t.Fatalf("peek an empty queue: %v, %v", got, err)
	}
	send(t, s, text("a"), text("b"), text("c"))
	receiveOne(t, r) // peeking shows locked messages, too
	from := int64(0)
	for _, want := range [][]string{{"a", "b"}, {"c"}} {
		got, err := r.PeekMessages(testContext(t), 2, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
		must(t, "peek", err)
		var bodies []string
		for _, msg := range got {
			bodies = append(bodies, string(msg.Body))
			from = *msg.SequenceNumber + 1
		}
		if !slices.Equal(bodies, want) {
			t.Fatalf("peeked %v, want %v", bodies, want)
		}
	}
	if st := m.Stats().Queues[0]; st.Active != 2 || st.Locked != 1 {
		t.Errorf("peeking changed the queue: %+v", st)
	}
}

func TestServiceBusReceiveAndDelete(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	send(t, newSender(t, c), text("a"), text("b"))
	r := newReceiver(t, c, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	if got := receive(t, r, 2); string(got[0].Body) != "a" || string(got[1].Body) != "b" {
		t.Errorf("received %q, %q", got[0].Body, got[1].Body)
	}
	m.emptied(t)
}

func TestServiceBusRefusals(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	wantCode := func(err error, code azservicebus.Code) {
		t.Helper()
		var e *azservicebus.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("got %v, want code %s", err, code)
		}
	}
	missing, err := m.serviceBus(t).NewSender("nothing", nil)
	must(t, "new sender", err)
	wantCode(missing.SendMessage(testContext(t), text("x"), nil), azservicebus.CodeNotFound)
	m.connection = strings.Replace(m.connection, "SharedAccessKey=", "SharedAccessKey=wrong", 1)
	wantCode(newSender(t, m.serviceBus(t)).SendMessage(testContext(t), text("x"), nil), azservicebus.CodeUnauthorizedAccess)
	_, err = newReceiver(t, m.serviceBus(t), nil).ReceiveMessages(testContext(t), 1, nil)
	wantCode(err, azservicebus.CodeUnauthorizedAccess)
}

func TestServiceBusSessionsAreRefused(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	if _, err := c.AcceptSessionForQueue(testContext(t), queueName, "s", nil); err == nil || !strings.Contains(err.Error(), "not-allowed") {
		t.Errorf("accept a session: %v", err)
	}
}
