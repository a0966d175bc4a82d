package broker

import (
	"fmt"
	"math"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// defaultPriority is what an absent priority means (OASIS part 3, section 3.2.1).
const defaultPriority = 4

// ownAnnotations are set by the service alone; what a sender put there is not
// passed on.
var ownAnnotations = []string{
	annSequence, annEnqueued, annLockedUntil, annState, annSource, annEnqueueSeq, annLockToken, annOffset,
}

// encodeReceived makes the message that a receiver of the queue gets: what the
// sender sent, with the header and the annotations of the service and with what
// settling added. withState adds the state, as peeking does.
func encodeReceived(r queue.Received, source string, withState bool) ([]byte, error) {
	parts, err := openEnvelope(r.Body)
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	head, err := decodeSections(parts.header, parts.delivery, parts.message)
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	if head.Header == nil {
		head.Header = &goamqp.MessageHeader{Priority: defaultPriority}
	}
	head.Header.DeliveryCount = r.DeliveryCount
	head.Header.TTL = min(r.TTL, math.MaxUint32*time.Millisecond)
	if r.Token != (queue.Token{}) {
		if head.DeliveryAnnotations == nil {
			head.DeliveryAnnotations = goamqp.Annotations{}
		}
		head.DeliveryAnnotations[annLockToken] = goamqp.UUID(r.Token)
	}
	head.Annotations = queueAnnotations(head.Annotations, r, source, withState)
	b, err := head.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	application, err := applicationProperties(parts.application, r)
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	return append(append(append(b, parts.properties...), application...), parts.body...), nil
}

// decodeSections decodes the sections alone.
func decodeSections(sections ...[]byte) (*goamqp.Message, error) {
	m := new(goamqp.Message)
	for _, raw := range sections {
		if raw == nil {
			continue
		}
		if err := m.UnmarshalBinary(raw); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func queueAnnotations(a goamqp.Annotations, r queue.Received, source string, withState bool) goamqp.Annotations {
	if a == nil {
		a = make(goamqp.Annotations, 4)
	}
	dropOwn(a)
	a[annSequence] = r.SequenceNumber
	a[annEnqueued] = r.EnqueuedAt
	if !r.LockedUntil.IsZero() {
		a[annLockedUntil] = r.LockedUntil
	}
	if withState {
		a[annState] = int32(r.State)
	}
	if r.DeadLetter != nil {
		a[annSource] = source
	}
	return a
}

// dropOwn removes what only the service sets, and what clients can't read: the
// SDKs panic on annotations of a type that they don't expect.
func dropOwn(a goamqp.Annotations) {
	for _, name := range ownAnnotations {
		delete(a, name)
	}
	if _, ok := a[annPartitionKey].(string); !ok {
		delete(a, annPartitionKey)
	}
	if _, ok := a[annSchedule].(time.Time); !ok {
		delete(a, annSchedule)
	}
}

// applicationProperties gives the section with what settling added.
func applicationProperties(raw []byte, r queue.Received) ([]byte, error) {
	if len(r.Properties) == 0 && r.DeadLetter == nil {
		return raw, nil
	}
	m, err := decodeSections(raw)
	if err != nil {
		return nil, err
	}
	if m.ApplicationProperties == nil {
		m.ApplicationProperties = make(map[string]any, len(r.Properties)+2)
	}
	for name, encoded := range r.Properties {
		v, err := decodeSections(encoded)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", name, err)
		}
		m.ApplicationProperties[name] = v.Value
	}
	if d := r.DeadLetter; d != nil {
		if d.Reason != "" {
			m.ApplicationProperties[reasonProperty] = d.Reason
		}
		if d.Description != "" {
			m.ApplicationProperties[descriptionProperty] = d.Description
		}
	}
	return (&goamqp.Message{ApplicationProperties: m.ApplicationProperties}).MarshalBinary()
}
