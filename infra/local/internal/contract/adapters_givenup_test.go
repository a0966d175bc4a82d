package contract

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
)

// givesUp sends by send with less and less patience, until some of the sends were given up
// between two frames, and wants those that nobody gives up to succeed all the same.
func givesUp(t *testing.T, send func(context.Context) error) {
	t.Helper()
	patient := func() {
		t.Helper()
		if err := send(testContext(t)); err != nil {
			t.Errorf("the next send: %v", err)
		}
	}
	patient()
	given := 0
	for n := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n)*100*time.Microsecond)
		if send(ctx) != nil {
			given++
		}
		cancel()
		patient()
	}
	if given == 0 {
		t.Error("no send was given up")
	}
}

// adaptersSmallFrames serves cfg with the smallest frames there are, and returns the
// connection string.
func adaptersSmallFrames(t *testing.T, cfg broker.Config) string {
	t.Helper()
	_, _, b := adaptersBroker(t, cfg)
	address, stop := adaptersListen(t, b, "127.0.0.1:0", amqp.Options{MaxFrameSize: 512})
	t.Cleanup(stop)
	return b.ConnectionString(address)
}

// manyFrames takes hundreds of them.
var manyFrames = []byte(strings.Repeat("x", 200_000))

// Ensure that the messages after one that was given up between two frames are sent, though
// the service ends the link, and though the SDK would never attach another.
func TestAdaptersSenderAfterSendsThatWereGivenUp(t *testing.T) {
	t.Parallel()
	sender := adaptersSender(t, adaptersSmallFrames(t, broker.Config{Queues: []broker.QueueConfig{{Name: "deliveries"}}}))
	givesUp(t, func(ctx context.Context) error {
		return sender.Send(ctx, engine.Queued{Queue: "deliveries", MessageID: "m", Body: manyFrames})
	})
}

// The same for events.
func TestAdaptersProducerAfterSendsThatWereGivenUp(t *testing.T) {
	t.Parallel()
	producer := adaptersProducer(t, adaptersSmallFrames(t, broker.Config{Hubs: []broker.HubConfig{{Name: adaptersHub, Partitions: 1}}}), adaptersHub)
	givesUp(t, func(ctx context.Context) error {
		return producer.Send(ctx, "0", []ingest.Event{{TransactionID: "t", Body: manyFrames}})
	})
}
