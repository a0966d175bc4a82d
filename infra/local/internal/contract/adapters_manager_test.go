package contract

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/messaging"
)

// Ensure that the counts are those of the queues: what is locked is active still,
// what comes later and what is dead has a count of its own.
func TestAdaptersCountMessages(t *testing.T) {
	connection, _ := adaptersMessaging(t, broker.Config{Queues: []broker.QueueConfig{{Name: "deliveries"}, {Name: "compensations"}}})
	sender := adaptersSender(t, connection)
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	must(t, "open a client", err)
	t.Cleanup(func() { must(t, "close the client", client.Close(t.Context())) })
	later := time.Now().Add(time.Hour)
	messages := []engine.Queued{{Queue: "deliveries", MessageID: "s", Body: []byte("{}"), At: later}}
	for _, id := range []string{"a", "b", "c"} {
		messages = append(messages, engine.Queued{Queue: "deliveries", MessageID: id, Body: []byte("{}")})
	}
	must(t, "send", sender.Send(t.Context(), messages...))
	receiver, err := client.NewReceiverForQueue("deliveries", nil)
	must(t, "open a receiver", err)
	got, err := receiver.ReceiveMessages(t.Context(), 2, nil)
	must(t, "receive", err)
	must(t, "bury", receiver.DeadLetterMessage(t.Context(), got[0], nil))

	manager, err := messaging.OpenManager(messaging.Connection{ConnectionString: connection}, messaging.Options{Timeout: 5 * time.Second})
	must(t, "open the manager", err)
	counts, err := manager.Queues(t.Context(), "compensations", "deliveries")
	must(t, "count", err)
	want := []messaging.QueueCount{{Queue: "compensations"}, {Queue: "deliveries", Active: 2, Scheduled: 1, Dead: 1}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	_, err = manager.Queues(t.Context(), "absent")
	if !failure.Is(err, failure.Permanent) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a queue that is not there: %v", err)
	}
	wrong, err := messaging.OpenManager(messaging.Connection{ConnectionString: strings.Replace(connection, "SharedAccessKey=", "SharedAccessKey=b3RoZXI", 1)},
		messaging.Options{Timeout: 5 * time.Second})
	must(t, "open with another key", err)
	_, err = wrong.Queues(t.Context(), "deliveries")
	var f *failure.Error
	if !errors.As(err, &f) || f.Kind != failure.Permanent || !strings.Contains(err.Error(), "Data Owner") {
		t.Errorf("another key: %v", err)
	}
}
