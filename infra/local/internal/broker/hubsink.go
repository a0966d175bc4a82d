package broker

import (
	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
)

// A hubSink is a link that sends to an event hub or to one of its partitions.
type hubSink struct {
	hub  *hub
	only *partitionNode // nil for the hub

	client *mortal
}

// Transfer implements [amqp.Sink]: one event, or a batch, which goes to one
// partition whole or not at all. The link ends with its hub.
func (s *hubSink) Transfer(t amqp.Transfer, answer func(error)) {
	done := func(err error) {
		if err == errDeleted {
			err = &amqp.DetachError{Reason: errDeleted}
		}
		answer(err)
	}
	s.client.send(nil, func(done func(error)) { s.transfer(t, done) }, done)
}

func (s *hubSink) transfer(t amqp.Transfer, done func(error)) {
	key, events, err := readEvents(t)
	s.hub.gate.RLock()
	defer s.hub.gate.RUnlock()
	switch {
	case err != nil:
		done(err)
	case s.hub.disabled:
		done(&amqp.DetachError{Reason: sendDisabled(s.hub.cfg.Name)})
	case s.hub.held.Load():
		done(amqp.Errorf(amqp.CondServerBusy, "The hub '%s' takes no events at the moment", s.hub.cfg.Name))
	case s.only == nil:
		s.hub.pick(key).add(key, events, done)
	case key != nil:
		done(amqp.Errorf(amqp.CondNotAllowed, "A partition key can't be used with a sender of partition '%s'", s.only.id))
	default:
		s.only.add(nil, events, done)
	}
}

// Close implements [amqp.Sink]; a sink holds nothing.
func (s *hubSink) Close() {}

// readEvents takes a transfer apart. The key is the batch's, else that of its
// first event.
func readEvents(t amqp.Transfer) (key *string, events [][]byte, err error) {
	if size := len(t.Payload); size > maxEventBytes {
		return nil, nil, amqp.Errorf(amqp.CondMessageSizeExceeded,
			"The received message (size:%d) exceeds the limit (%d bytes) currently allowed on the link", size, maxEventBytes)
	}
	events = [][]byte{t.Payload}
	if t.Format == batchFormat {
		b, err := splitBatch(t.Payload)
		if err != nil {
			return nil, nil, err
		}
		key, events = b.partitionKey, b.messages
	}
	for i, e := range events {
		events[i] = withCodes(e)
		parts, err := parseEnvelope(events[i])
		if err != nil {
			return nil, nil, err
		}
		own, err := partitionKey(parts.message)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 && key == nil {
			key = own
		}
	}
	return key, events, nil
}
