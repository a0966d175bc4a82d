package amqp_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	goamqp "github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"
)

// The unmodified Service Bus SDK sends, receives and settles.
func TestServiceBusSDK(t *testing.T) {
	t.Parallel()
	sink, source := newSink(), newSource()
	var mu sync.Mutex
	var audiences []string
	service := &fakeService{
		openSink:   sink.open,
		openSource: source.open,
		putToken: func(_ context.Context, token amqp.Token) error {
			if strings.Contains(token.Audience, "missing") {
				return amqp.Errorf(amqp.CondNotFound, "no entity %s", token.Audience)
			}
			mu.Lock()
			defer mu.Unlock()
			audiences = append(audiences, token.Audience)
			return nil
		},
	}
	address := serve(t, service, amqp.Options{})
	client, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+address+
		";SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	serviceBusSends(t, client, sink)
	mu.Lock()
	want := []string{"amqp://" + address + "/orders", "amqp://" + address + "/orders/$management"}
	if diff := cmp.Diff(want, audiences); diff != "" {
		t.Errorf("audiences: %s", diff)
	}
	mu.Unlock()
	serviceBusReceives(t, client, source)
	missing, err := client.NewSender("missing", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = missing.SendMessage(testContext(t), &azservicebus.Message{}, nil)
	if e, ok := errors.AsType[*azservicebus.Error](err); !ok || e.Code != azservicebus.CodeNotFound {
		t.Errorf("send to a missing queue: %v", err)
	}
}

// serviceBusSends sends a batch and a single message.
func serviceBusSends(t *testing.T, client *azservicebus.Client, sink *fakeSink) {
	t.Helper()
	ctx := testContext(t)
	sender, err := client.NewSender("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := sender.NewMessageBatch(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two"} {
		if err := batch.AddMessage(&azservicebus.Message{Body: []byte(body)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
		t.Fatal(err)
	}
	if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("three")}, nil); err != nil {
		t.Fatal(err)
	}
	if got := sink.received(); len(got) != 2 || got[0].Format != 0x80013700 || got[1].Format != 0 {
		t.Errorf("transfers %v", got)
	}
}

// serviceBusReceives receives and completes a message.
func serviceBusReceives(t *testing.T, client *azservicebus.Client, source *fakeSource) {
	t.Helper()
	ctx := testContext(t)
	source.push(amqp.Delivery{Tag: make([]byte, 16), Payload: encode(t, &goamqp.Message{
		Header: &goamqp.MessageHeader{}, Properties: &goamqp.MessageProperties{MessageID: "m"}, Data: [][]byte{[]byte("body")},
	})})
	receiver, err := client.NewReceiverForQueue("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := receiver.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) != 1 || string(messages[0].Body) != "body" || messages[0].MessageID != "m" {
		t.Fatalf("messages %+v", messages)
	}
	if err := receiver.CompleteMessage(ctx, messages[0], nil); err != nil {
		t.Fatal(err)
	}
}
