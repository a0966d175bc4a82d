package broker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// ownAnnotations are set by the service alone; what a sender put there is not
// passed on.
var ownAnnotations = []string{
	annSequence, annEnqueued, annLockedUntil, annState, annSource, annEnqueueSeq, annLockToken, annOffset,
}

// encodeReceived makes the message that a receiver of the queue gets: the body that
// the sender sent, with the header and the annotations of the service and with what
// settling added. withState adds the state, as peeking does.
func encodeReceived(r queue.Received, body []byte, source string, withState bool) ([]byte, error) {
	b, err := appendReceived(make([]byte, 0, len(body)+256), r, body, source, withState)
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	return b, nil
}

func appendReceived(b []byte, r queue.Received, body []byte, source string, withState bool) ([]byte, error) {
	parts, err := openEnvelope(body)
	if err != nil {
		return nil, err
	}
	head, err := readHeader(parts.header)
	if err != nil {
		return nil, err
	}
	b = head.append(b, min(r.TTL, math.MaxUint32*time.Millisecond), r.DeliveryCount)
	var token []pair
	if r.Token != (queue.Token{}) {
		token = []pair{{annLockToken, amqp.UUID(r.Token)}}
	}
	if b, err = editMap(b, secDeliveryAnnotations, parts.delivery, isLockToken, token); err != nil {
		return nil, err
	}
	if b, err = editMap(b, secMessageAnnotations, parts.message, notPassedOn, queueAnnotations(r, source, withState)); err != nil {
		return nil, err
	}
	b = appendSection(b, secProperties, parts.properties)
	if b, err = appendApplication(b, parts.application, r); err != nil {
		return nil, err
	}
	return append(b, parts.body...), nil
}

func queueAnnotations(r queue.Received, source string, withState bool) []pair {
	a := append(make([]pair, 0, 5), pair{annSequence, r.SequenceNumber}, pair{annEnqueued, r.EnqueuedAt})
	if !r.LockedUntil.IsZero() {
		a = append(a, pair{annLockedUntil, r.LockedUntil})
	}
	if withState {
		a = append(a, pair{annState, int32(r.State)})
	}
	if r.DeadLetter != nil {
		a = append(a, pair{annSource, source})
	}
	return a
}

func isLockToken(name string, _ []byte) bool { return name == annLockToken }

// notPassedOn tells what only the service sets, and what clients can't read: the
// SDKs panic on annotations of a type that they don't expect.
func notPassedOn(name string, value []byte) bool {
	switch name {
	case annPartitionKey:
		return !isEncodedText(value)
	case annSchedule:
		return value[0] != 0x83 // a timestamp
	default:
		return slices.Contains(ownAnnotations, name)
	}
}

// isEncodedText tells whether an encoded value is a string.
func isEncodedText(value []byte) bool { return value[0] == 0xa1 || value[0] == 0xb1 }

// appendApplication appends the application properties with what settling added.
func appendApplication(b, sent []byte, r queue.Received) ([]byte, error) {
	if len(r.Properties) == 0 && r.DeadLetter == nil {
		return appendSection(b, secApplication, sent), nil
	}
	added := make([]pair, 0, len(r.Properties)+2)
	for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
		s, _, err := nextSection(r.Properties[name])
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", name, err)
		}
		v, err := amqp.DecodeValue(s.value)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", name, err)
		}
		added = append(added, pair{name, v})
	}
	if d := r.DeadLetter; d != nil {
		added = set(set(added, reasonProperty, d.Reason), descriptionProperty, d.Description)
	}
	return editMap(b, secApplication, sent, func(name string, _ []byte) bool {
		return slices.ContainsFunc(added, func(p pair) bool { return p.key == name })
	}, added)
}

// set replaces or adds a property, unless its text is empty.
func set(props []pair, name, text string) []pair {
	if text == "" {
		return props
	}
	props = slices.DeleteFunc(props, func(p pair) bool { return p.key == name })
	return append(props, pair{name, text})
}
