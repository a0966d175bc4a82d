package broker

import (
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// A queueSink is a link that sends to a queue.
type queueSink struct {
	q      *queueNode
	client *mortal
}

// Transfer implements [amqp.Sink]: one message, or a batch that is taken whole
// or not at all.
func (s *queueSink) Transfer(t amqp.Transfer, done func(error)) {
	if size, limit := len(t.Payload), s.q.cfg.MaxMessageBytes; size > limit {
		done(amqp.Errorf(amqp.CondMessageSizeExceeded, "The received message (size:%d) exceeds the limit (%d bytes) currently allowed on the link", size, limit))
		return
	}
	payloads := [][]byte{t.Payload}
	if t.Format == batchFormat {
		batch, err := splitBatch(t.Payload)
		if err != nil {
			done(err)
			return
		}
		payloads = batch.messages
	}
	msgs := make([]queue.Message, len(payloads))
	for i, payload := range payloads {
		m, err := parseMessage(payload)
		if err != nil {
			done(err)
			return
		}
		msgs[i] = m
	}
	var changed bool
	s.client.send(&changed, func(done func(error)) {
		s.q.change(func(now time.Time) (c queue.Change, _ error) {
			_, c, changed = s.q.enqueue(now, msgs)
			return c, nil
		}, done)
	}, done)
}

// Close implements [amqp.Sink]; a sink holds nothing.
func (s *queueSink) Close() {}
