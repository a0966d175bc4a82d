package contract

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// Ensure that messages which the host can't convert, and therefore gives back ten
// times, are taken from the dead letters into the quarantine, once, and that the
// other dead letters are left to their function.
func TestAdaptersUndeliverableDeadLetters(t *testing.T) {
	sender, client := adaptersQueues(t)
	kept := cosmosdb.NewQuarantine(adaptersOpen(t))
	service := quarantine.New(quarantine.Config{Store: kept, Now: time.Now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	bodies := map[string]azservicebus.AMQPAnnotatedMessageBody{
		"number": {Value: int64(7)}, "map": {Value: map[string]any{"a": "b"}}, "sequence": {Sequence: [][]any{{"x", int64(1)}}},
		"text": {Value: "a string"}, "data": {Data: [][]byte{[]byte("bytes")}},
	}
	adaptersKill(t, client, bodies)

	for _, want := range []int{3, 0} {
		if n, err := sender.DrainUndeliverable(t.Context(), "deliveries", service.DeadLetter); err != nil || n != want {
			t.Fatalf("drained %d, %v; want %d", n, err, want)
		}
	}
	dead, err := client.NewReceiverForQueue("deliveries", &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	must(t, "open the dead letters", err)
	waiting, err := dead.PeekMessages(t.Context(), 10, nil)
	must(t, "look at the dead letters", err)
	left := map[string]bool{}
	for _, m := range waiting {
		left[m.MessageID] = true
	}
	if len(waiting) != 2 || !left["text"] || !left["data"] {
		t.Errorf("left are %v", left)
	}
	found := map[string]string{}
	for continuation, first := "", true; first || continuation != ""; first = false {
		var page []quarantine.Entry
		page, continuation, err = kept.Page(t.Context(), quarantine.Filter{Source: quarantine.DeadLetterSource("deliveries")}, continuation)
		must(t, "read the quarantine", err)
		for _, e := range page {
			found[e.MessageID] = e.Reason + ": " + e.Body
		}
	}
	for id, body := range map[string]string{"number": "7", "map": "map[a:b]", "sequence": "[[x 1]]"} {
		if got := found[id]; !strings.HasPrefix(got, "MaxDeliveryCountExceeded: ") || !strings.HasSuffix(got, body) {
			t.Errorf("%s is kept as %q", id, got)
		}
	}
	if len(found) != 3 {
		t.Errorf("kept are %v", found)
	}
}

// Ensure that a dead letter which can't be kept fails as what kept it from that was
// judged, and stays.
func TestAdaptersUndeliverableKeepsTheKindOfAFailure(t *testing.T) {
	sender, client := adaptersQueues(t)
	adaptersKill(t, client, map[string]azservicebus.AMQPAnnotatedMessageBody{"number": {Value: int64(7)}})
	n, err := sender.DrainUndeliverable(t.Context(), "deliveries", func(context.Context, quarantine.Received) error {
		return failure.New(failure.Permanent, "keep", "", nil)
	})
	if n != 0 || failure.KindOf(err) != failure.Permanent {
		t.Errorf("drained %d, %v", n, err)
	}
}

// adaptersKill sends messages and has the queue deliver them in vain, until they are
// dead letters.
func adaptersKill(t *testing.T, client *azservicebus.Client, bodies map[string]azservicebus.AMQPAnnotatedMessageBody) {
	t.Helper()
	plain, err := client.NewSender("deliveries", nil)
	must(t, "open the sender", err)
	for id, body := range bodies {
		m := &azservicebus.AMQPAnnotatedMessage{Body: body, Properties: &azservicebus.AMQPAnnotatedMessageProperties{MessageID: id}}
		must(t, "send "+id, plain.SendAMQPAnnotatedMessage(t.Context(), m, nil))
	}
	receiver, err := client.NewReceiverForQueue("deliveries", nil)
	must(t, "open the queue", err)
	for range 10 * len(bodies) {
		must(t, "abandon", receiver.AbandonMessage(t.Context(), receiveOne(t, receiver), nil))
	}
	must(t, "close the receiver", receiver.Close(t.Context()))
}
