package contract

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/messaging"
)

// adaptersQueues serves the two queues and returns a sender and a client.
func adaptersQueues(t *testing.T) (*messaging.Sender, *azservicebus.Client) {
	t.Helper()
	connection, _ := adaptersMessaging(t, broker.Config{Queues: []broker.QueueConfig{
		{Name: "deliveries", DuplicateWindow: 10 * time.Minute}, {Name: "compensations"},
	}})
	sender := adaptersSender(t, connection)
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return sender, client
}

func adaptersSender(t *testing.T, connection string) *messaging.Sender {
	t.Helper()
	sender, err := messaging.OpenSender(messaging.Connection{ConnectionString: connection}, messaging.Options{Timeout: 5 * time.Second, Retries: 1, RetryDelay: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sender.Close(context.Background()); err != nil {
			t.Errorf("close sender: %v", err)
		}
	})
	return sender
}

// adaptersReceive takes n messages out of a queue, in the order in which they
// come.
func adaptersReceive(t *testing.T, client *azservicebus.Client, queue string, n int) []*azservicebus.ReceivedMessage {
	t.Helper()
	receiver, err := client.NewReceiverForQueue(queue, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := receiver.Close(context.Background()); err != nil {
			t.Errorf("close receiver: %v", err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all []*azservicebus.ReceivedMessage
	for len(all) < n {
		some, err := receiver.ReceiveMessages(ctx, n-len(all), nil)
		if err != nil {
			t.Fatalf("received %d of %d messages of %s: %v", len(all), n, queue, err)
		}
		all = append(all, some...)
	}
	return all
}

// adaptersPeek returns the MessageIDs of what is in a queue.
func adaptersPeek(t *testing.T, client *azservicebus.Client, queue string) []string {
	t.Helper()
	receiver, err := client.NewReceiverForQueue(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := receiver.Close(context.Background()); err != nil {
			t.Errorf("close receiver: %v", err)
		}
	}()
	messages, err := receiver.PeekMessages(t.Context(), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.MessageID)
	}
	return ids
}

func TestAdaptersSendToSeveralQueues(t *testing.T) {
	sender, client := adaptersQueues(t)
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	err := sender.Send(t.Context(),
		engine.Queued{Queue: "deliveries", MessageID: "o-1", Body: []byte(`{"n":1}`), TraceParent: "00-1-2-01"},
		engine.Queued{Queue: "compensations", MessageID: "t-1/compensations/1", Body: []byte(`{"n":2}`)},
		engine.Queued{Queue: "deliveries", MessageID: "o-2", Body: []byte(`{"n":3}`), At: at},
		engine.Queued{Queue: "deliveries", MessageID: "o-3", Body: []byte(`{"n":4}`), At: time.Now().Add(-time.Hour)},
	)
	if err != nil {
		t.Fatal(err)
	}
	undo := adaptersReceive(t, client, "compensations", 1)[0]
	if undo.MessageID != "t-1/compensations/1" || string(undo.Body) != `{"n":2}` || len(undo.ApplicationProperties) != 0 {
		t.Errorf("compensations: %+v", undo)
	}
	due := adaptersReceive(t, client, "deliveries", 2)
	slices.SortFunc(due, func(a, b *azservicebus.ReceivedMessage) int { return strings.Compare(a.MessageID, b.MessageID) })
	first := due[0]
	if first.MessageID != "o-1" || string(first.Body) != `{"n":1}` || *first.ContentType != "application/json" {
		t.Errorf("first delivery: %+v", first)
	}
	if diff := cmp.Diff(map[string]any{"traceparent": "00-1-2-01"}, first.ApplicationProperties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if due[1].MessageID != "o-3" {
		t.Errorf("a message scheduled in the past is due: got %s", due[1].MessageID)
	}
	receiver, err := client.NewReceiverForQueue("deliveries", nil)
	if err != nil {
		t.Fatal(err)
	}
	later, err := receiver.PeekMessages(t.Context(), 10, nil)
	if err != nil || len(later) != 1 || later[0].MessageID != "o-2" || !later[0].ScheduledEnqueueTime.Equal(at) {
		t.Errorf("scheduled: %+v, %v, want o-2 at %v", later, err, at)
	}
}

func TestAdaptersSendRepeatedIsAbsorbed(t *testing.T) {
	sender, client := adaptersQueues(t)
	for range 2 {
		if err := sender.Send(t.Context(), engine.Queued{Queue: "deliveries", MessageID: "o-1", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"o-1"}, adaptersPeek(t, client, "deliveries")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Messages that do not fit into one batch are sent in several, in order.
func TestAdaptersSendSplitsBatches(t *testing.T) {
	sender, client := adaptersQueues(t)
	var want []string
	var messages []engine.Queued
	for i := range 10 {
		id := fmt.Sprint("o-", i)
		want = append(want, id)
		messages = append(messages, engine.Queued{Queue: "deliveries", MessageID: id, Body: bytes.Repeat([]byte{'x'}, 60<<10)})
	}
	if err := sender.Send(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range adaptersReceive(t, client, "deliveries", len(messages)) {
		got = append(got, m.MessageID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestAdaptersSendTooLarge(t *testing.T) {
	sender, client := adaptersQueues(t)
	large := engine.Queued{Queue: "deliveries", MessageID: "large", Body: make([]byte, 300<<10)}
	small := engine.Queued{Queue: "deliveries", MessageID: "small", Body: []byte("{}")}
	adaptersKind(t, "too large", sender.Send(t.Context(), large), failure.Invalid)
	adaptersKind(t, "too large behind another", sender.Send(t.Context(), small, large), failure.Invalid)
	if err := sender.Send(t.Context(), small); err != nil {
		t.Errorf("the sender is of no use after a refusal: %v", err)
	}
	if diff := cmp.Diff([]string{"small"}, adaptersPeek(t, client, "deliveries")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestAdaptersSendConcurrently(t *testing.T) {
	sender, client := adaptersQueues(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := sender.Send(t.Context(), engine.Queued{Queue: "deliveries", MessageID: fmt.Sprint(i), Body: []byte("{}")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(adaptersPeek(t, client, "deliveries")); n != 20 {
		t.Errorf("%d messages, want 20", n)
	}
}

func TestAdaptersSendIsRefused(t *testing.T) {
	connection, _ := adaptersMessaging(t, broker.Config{Queues: []broker.QueueConfig{{Name: "deliveries"}}})
	m := engine.Queued{Queue: "deliveries", MessageID: "o-1", Body: []byte("{}")}
	absent := m
	absent.Queue = "absent"
	adaptersKind(t, "unknown queue", adaptersSender(t, connection).Send(t.Context(), absent), failure.Permanent)

	wrong := strings.Replace(connection, "c2VjcmV0", "d3Jvbmc=", 1)
	if wrong == connection {
		t.Fatal("the key was not replaced")
	}
	adaptersKind(t, "wrong key", adaptersSender(t, wrong).Send(t.Context(), m), failure.Permanent)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	adaptersKind(t, "ended context", adaptersSender(t, connection).Send(ended, m), failure.Transient)
}

func TestAdaptersSendWithoutABroker(t *testing.T) {
	connection := "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true"
	sender := adaptersSender(t, connection)
	m := engine.Queued{Queue: "deliveries", MessageID: "o-1", Body: []byte("{}")}
	adaptersKind(t, "send", sender.Send(t.Context(), m), failure.Transient)
	if err := sender.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	adaptersKind(t, "send after close", sender.Send(t.Context(), m), failure.Transient)
}

func TestAdaptersSenderSurvivesAFailover(t *testing.T) {
	connection, failover := adaptersMessaging(t, broker.Config{Queues: []broker.QueueConfig{{Name: "deliveries"}}})
	sender := adaptersSender(t, connection)
	for i := range 3 {
		if err := sender.Send(t.Context(), engine.Queued{Queue: "deliveries", MessageID: fmt.Sprint(i), Body: []byte("{}")}); err != nil {
			t.Fatalf("after %d failovers: %v", i, err)
		}
		failover()
	}
}
