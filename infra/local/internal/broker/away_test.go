package broker

import (
	"context"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// TestAServiceIsAway: nothing of it can be reached, the other service goes on,
// and what was there is there afterwards.
func TestAServiceIsAway(t *testing.T) {
	for _, c := range []struct {
		away             fault.Point
		to, from, manage string
		other            string
	}{
		{fault.ServiceBusAway, "orders", "orders", "orders/$management", "hub/partitions/0"},
		{fault.EventHubsAway, "hub/partitions/0", "hub/consumergroups/$default/partitions/0", "$management", "orders"},
	} {
		t.Run(string(c.away), func(t *testing.T) {
			f := openFaulty(t, store.NewMemory())
			send(t, f.Broker, c.to, "a")
			sink, _, err := f.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: c.to})
			if err != nil {
				t.Fatal(err)
			}
			defer sink.Close()
			f.hit(c.away)
			told := make(chan error, 1)
			sink.Transfer(amqp.Transfer{Payload: withID(t, "b")}, func(err error) { told <- err })
			f.wantDetach("send on an open link", <-told)
			_, _, err = f.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: c.to})
			wantCondition(t, "open a link that sends", err, amqp.CondServerBusy)
			_, _, err = f.OpenSource(t.Context(), amqp.Attach{Conn: conn, Address: c.from}, newPeer(t))
			wantCondition(t, "open a link that receives", err, amqp.CondServerBusy)
			r := amqp.Request{Conn: conn, Address: c.manage, Properties: map[string]any{"operation": "com.microsoft:peek-message"},
				Body: map[string]any{"from-sequence-number": int64(0), "message-count": int32(1)}}
			if c.away == fault.EventHubsAway {
				r.Properties = map[string]any{"operation": "READ", "name": "hub", "type": "com.microsoft:eventhub"}
			}
			_, err = f.Request(context.Background(), r)
			wantCondition(t, "a request", err, amqp.CondServerBusy)
			send(t, f.Broker, c.other, "c")
			f.hit()
			p := receiver(t, f.Broker, amqp.Attach{Address: c.from})
			p.give(10)
			if got := p.body(); got != "a" {
				t.Errorf("received %q", got)
			}
		})
	}
}
