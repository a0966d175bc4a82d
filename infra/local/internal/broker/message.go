package broker

import (
	"fmt"
	"strings"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// batchFormat is the message format of a batch: each of its data sections is an
// encoded message.
const batchFormat = 0x80013700

// Annotations and properties that Service Bus and Event Hubs know.
const (
	annSequence     = "x-opt-sequence-number"
	annOffset       = "x-opt-offset"
	annEnqueued     = "x-opt-enqueued-time"
	annLockedUntil  = "x-opt-locked-until"
	annState        = "x-opt-message-state"
	annSource       = "x-opt-deadletter-source"
	annEnqueueSeq   = "x-opt-enqueue-sequence-number"
	annSchedule     = "x-opt-scheduled-enqueue-time"
	annPartitionKey = "x-opt-partition-key"
	annLockToken    = "x-opt-lock-token"

	reasonProperty      = "DeadLetterReason"
	descriptionProperty = "DeadLetterErrorDescription"
)

// deadLetterProperties must be text: the SDKs panic on anything else.
var deadLetterProperties = []string{reasonProperty, descriptionProperty}

// checkProperties refuses application properties that no client could read.
func checkProperties(props map[string]any) error {
	for _, name := range deadLetterProperties {
		if v, ok := props[name]; ok && !isText(v) {
			return amqp.Errorf(amqp.CondInvalidField, "%s must be a string, is %T", name, v)
		}
	}
	return nil
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// A batch is a transfer of format batchFormat.
type batch struct {
	messages     [][]byte // parts of the payload
	partitionKey *string  // from the batch's own annotations
}

func splitBatch(payload []byte) (batch, error) {
	var b batch
	for rest := payload; len(rest) > 0; {
		s, next, err := nextSection(rest)
		if err != nil {
			return b, amqp.Errorf(amqp.CondDecodeError, "%v", err)
		}
		switch s.code {
		case secData:
			data, err := binaryValue(s.value)
			if err != nil {
				return b, amqp.Errorf(amqp.CondDecodeError, "%v", err)
			}
			b.messages = append(b.messages, data)
		case secMessageAnnotations:
			m, err := decode(s.raw)
			if err != nil {
				return b, err
			}
			if b.partitionKey, err = partitionKey(m.Annotations); err != nil {
				return b, err
			}
		}
		rest = next
	}
	if len(b.messages) == 0 {
		return b, amqp.Errorf(amqp.CondDecodeError, "the batch has no message")
	}
	return b, nil
}

// binaryValue gives the bytes of a binary value, whose size was checked.
func binaryValue(v []byte) ([]byte, error) {
	switch v[0] {
	case 0xa0:
		return v[2:], nil
	case 0xb0:
		return v[5:], nil
	default:
		return nil, fmt.Errorf("a data section holds format code %#x", v[0])
	}
}

// decode decodes sections, and makes sure that those which delivering encodes
// again can be: go-amqp decodes more than it encodes, such as strings that are
// not UTF-8.
func decode(sections []byte) (*goamqp.Message, error) {
	m := new(goamqp.Message)
	if err := m.UnmarshalBinary(sections); err != nil {
		return nil, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	again := goamqp.Message{
		DeliveryAnnotations: m.DeliveryAnnotations, Annotations: m.Annotations,
		Properties: m.Properties, ApplicationProperties: m.ApplicationProperties,
	}
	if _, err := again.MarshalBinary(); err != nil {
		return nil, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	return m, nil
}

// partitionKey reads the partition key from annotations.
func partitionKey(a goamqp.Annotations) (*string, error) {
	switch key := a[annPartitionKey].(type) {
	case nil:
		return nil, nil
	case string:
		return &key, nil
	default:
		return nil, amqp.Errorf(amqp.CondInvalidField, "%s must be a string, is %T", annPartitionKey, key)
	}
}

// parseMessage checks a message for a queue and reads what the queue needs. The
// payload is kept as it came, but for the id that is assigned where there is
// none.
func parseMessage(payload []byte) (queue.Message, error) {
	parts, err := openEnvelope(payload)
	if err != nil {
		return queue.Message{}, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	m, err := decode(payload)
	if err != nil {
		return queue.Message{}, err
	}
	if err := checkProperties(m.ApplicationProperties); err != nil {
		return queue.Message{}, err
	}
	out := queue.Message{Body: payload}
	if m.Header != nil {
		out.TTL = m.Header.TTL
	}
	switch at := m.Annotations[annSchedule].(type) {
	case nil:
	case time.Time:
		out.EnqueueAt = at
	default:
		return out, amqp.Errorf(amqp.CondInvalidField, "%s must be a timestamp, is %T", annSchedule, at)
	}
	if m.Properties == nil {
		m.Properties = new(goamqp.MessageProperties)
	}
	if id := m.Properties.MessageID; id != nil && id != "" {
		// Ids of different types are different, as on the wire.
		if out.ID = fmt.Sprint(id); !isText(id) {
			out.ID = fmt.Sprintf("%T:%v", id, id)
		}
		return out, nil
	}
	out.ID = strings.ReplaceAll(uuid.NewString(), "-", "")
	m.Properties.MessageID = out.ID
	if parts.properties, err = (&goamqp.Message{Properties: m.Properties}).MarshalBinary(); err != nil {
		return out, fmt.Errorf("broker: assign a message id: %w", err)
	}
	out.Body = parts.bytes()
	return out, nil
}
