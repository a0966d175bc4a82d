package broker

import (
	"fmt"
	"strings"
	"time"

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
			return notText(name, v)
		}
	}
	return nil
}

func notText(name string, v any) error {
	return amqp.Errorf(amqp.CondInvalidField, "%s must be a string, is %T", name, v)
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
			if b.partitionKey, err = partitionKey(s.value); err != nil {
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

// parseEnvelope takes a message apart that was sent.
func parseEnvelope(payload []byte) (envelope, error) {
	parts, err := openEnvelope(payload)
	if err == nil {
		err = parts.check()
	}
	if err != nil {
		return parts, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	return parts, nil
}

// partitionKey reads the partition key from annotations.
func partitionKey(annotations []byte) (*string, error) {
	if annotations == nil {
		return nil, nil
	}
	raw := lookup(annotations, annPartitionKey)
	if raw == nil {
		return nil, nil
	}
	v, err := amqp.DecodeValue(raw)
	if err != nil {
		return nil, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	key, ok := v.(string)
	if !ok {
		return nil, notText(annPartitionKey, v)
	}
	return &key, nil
}

// parseMessage checks a message for a queue and reads what the queue needs. The
// payload is kept as it came, but for the id that is assigned where there is
// none.
func parseMessage(payload []byte) (queue.Message, error) {
	payload = withCodes(payload)
	parts, err := parseEnvelope(payload)
	if err != nil {
		return queue.Message{}, err
	}
	out := queue.Message{Body: payload}
	head, err := readHeader(parts.header)
	if err == nil {
		out.TTL, err = head.ttl()
	}
	if err != nil {
		return out, amqp.Errorf(amqp.CondDecodeError, "header: %v", err)
	}
	if out.EnqueueAt, err = scheduledFor(parts.message); err != nil {
		return out, err
	}
	for _, name := range deadLetterProperties {
		if parts.application == nil {
			break
		}
		if v := lookup(parts.application, name); v != nil && !isEncodedText(v) {
			return out, amqp.Errorf(amqp.CondInvalidField, "%s must be a string", name)
		}
	}
	return out, identify(&out, parts)
}

// scheduledFor reads when a message is to be enqueued, zero for at once.
func scheduledFor(annotations []byte) (at time.Time, err error) {
	if annotations == nil {
		return at, nil
	}
	raw := lookup(annotations, annSchedule)
	if raw == nil {
		return at, nil
	}
	v, err := amqp.DecodeValue(raw)
	if err != nil {
		return at, amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	at, ok := v.(time.Time)
	if !ok {
		return at, amqp.Errorf(amqp.CondInvalidField, "%s must be a timestamp, is %T", annSchedule, v)
	}
	return at, nil
}

// identify reads the message's id, or assigns one.
func identify(out *queue.Message, parts envelope) error {
	c := compound{}
	if parts.properties != nil {
		c = openCompound(parts.properties)
	}
	if first := c.next(); first != nil {
		id, err := amqp.DecodeValue(first)
		if err != nil {
			return amqp.Errorf(amqp.CondDecodeError, "properties: %v", err)
		}
		if id != nil && id != "" {
			// Ids of different types are different, as on the wire.
			if out.ID = fmt.Sprint(id); !isText(id) {
				out.ID = fmt.Sprintf("%T:%v", id, id)
			}
			return nil
		}
	}
	out.ID = strings.ReplaceAll(uuid.NewString(), "-", "")
	b, err := amqp.AppendValue(beginSection(nil, secProperties, 0xd0), out.ID)
	if err != nil {
		return fmt.Errorf("broker: assign a message id: %w", err)
	}
	b = append(b, c.rest...)
	out.Body = parts.withProperties(endSection(b, 0, 1+c.left))
	return nil
}
