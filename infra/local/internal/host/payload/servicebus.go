package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/uuid"
)

// ErrNoConversion is returned for a Service Bus message whose body the
// extension's converter throws on, whatever the dataType: an AMQP value that is
// no string, and a sequence. Such a message never reaches a function, nor does it
// from the dead-letter queue.
// (Microsoft.Azure.WebJobs.Extensions.ServiceBus, MessageToStringConverter and
// MessageToByteArrayConverter.)
var ErrNoConversion = errors.New("the message body can't be converted")

// BusClient is the client that received the messages, as the extension shows
// it.
type BusClient struct {
	FullyQualifiedNamespace string
	IsClosed                bool
	TransportType           int
	Identifier              string
}

// Message encodes a Service Bus invocation of cardinality one.
func Message(binding string, t DataType, msg *azservicebus.ReceivedMessage, client BusClient) (Invocation, error) {
	var inv Invocation
	body, err := messageBody(msg)
	if err != nil {
		return inv, err
	}
	text := lossy(body)
	data, err := t.single(body, text)
	if err != nil {
		return inv, err
	}
	inv.Data.Set(binding, data)
	m := &inv.Metadata
	if err := actions(m, client); err != nil {
		return inv, err
	}
	err = m.texts("DeliveryCount", msg.DeliveryCount, "LockToken", uuid.UUID(msg.LockToken).String(), "MessageId", msg.MessageID,
		"ContentType", msg.ContentType, "SequenceNumber", sequence(msg))
	if err != nil {
		return inv, err
	}
	m.Set("ExpiresAtUtc", DateTime(expires(msg)))
	m.Set("ExpiresAt", DateTimeOffset(expires(msg)))
	m.Set("EnqueuedTimeUtc", DateTime(at(msg.EnqueuedTime)))
	m.Set("EnqueuedTime", DateTimeOffset(at(msg.EnqueuedTime)))
	inv.TraceParent, _ = msg.ApplicationProperties["traceparent"].(string)
	props := properties(msg.ApplicationProperties)
	if err := m.objects("ApplicationProperties", props, "UserProperties", props); err != nil {
		return inv, err
	}
	err = m.texts("DeadLetterSource", msg.DeadLetterSource, "ReplyTo", msg.ReplyTo, "To", msg.To, "Subject", msg.Subject, "Label", msg.Subject,
		"CorrelationId", msg.CorrelationID, "SessionId", msg.SessionID, "ReplyToSessionId", msg.ReplyToSessionID,
		"PartitionKey", msg.PartitionKey, "TransactionPartitionKey", viaPartitionKey(msg))
	if err != nil {
		return inv, err
	}
	if t == String {
		err = m.leak(text)
	}
	return inv, err
}

// Messages encodes a Service Bus invocation of cardinality many.
func Messages(binding string, t DataType, msgs []*azservicebus.ReceivedMessage, client BusClient) (Invocation, error) {
	var inv Invocation
	bodies := make([]any, len(msgs))
	for i, msg := range msgs {
		body, err := messageBody(msg)
		if err != nil {
			return inv, err
		}
		if bodies[i] = lossy(body); t == Binary {
			bodies[i] = nonNil(body)
		}
	}
	if err := inv.Data.texts(binding, bodies); err != nil {
		return inv, fmt.Errorf("data: %w", err)
	}
	if err := actions(&inv.Metadata, client); err != nil {
		return inv, err
	}
	for _, c := range columns {
		values := make([]any, len(msgs))
		for i, msg := range msgs {
			values[i] = c.value(msg)
		}
		if err := inv.Metadata.texts(c.name+"Array", values); err != nil {
			return inv, err
		}
	}
	return inv, nil
}

// columns are the arrays of cardinality many. TransactionPartitionKey carries
// the partition keys: the extension's own mistake, kept.
var columns = []struct {
	name  string
	value func(*azservicebus.ReceivedMessage) any
}{
	{"DeliveryCount", func(m *azservicebus.ReceivedMessage) any { return m.DeliveryCount }},
	{"DeadLetterSource", func(m *azservicebus.ReceivedMessage) any { return m.DeadLetterSource }},
	{"LockToken", func(m *azservicebus.ReceivedMessage) any { return uuid.UUID(m.LockToken).String() }},
	{"ExpiresAtUtc", func(m *azservicebus.ReceivedMessage) any { return fraction(expires(m)) }},
	{"ExpiresAt", func(m *azservicebus.ReceivedMessage) any { return fractionOffset(expires(m)) }},
	{"EnqueuedTimeUtc", func(m *azservicebus.ReceivedMessage) any { return fraction(at(m.EnqueuedTime)) }},
	{"EnqueuedTime", func(m *azservicebus.ReceivedMessage) any { return fractionOffset(at(m.EnqueuedTime)) }},
	{"MessageId", func(m *azservicebus.ReceivedMessage) any { return m.MessageID }},
	{"ContentType", func(m *azservicebus.ReceivedMessage) any { return m.ContentType }},
	{"ReplyTo", func(m *azservicebus.ReceivedMessage) any { return m.ReplyTo }},
	{"SequenceNumber", func(m *azservicebus.ReceivedMessage) any { return sequence(m) }},
	{"To", func(m *azservicebus.ReceivedMessage) any { return m.To }},
	{"Subject", func(m *azservicebus.ReceivedMessage) any { return m.Subject }},
	{"Label", func(m *azservicebus.ReceivedMessage) any { return m.Subject }},
	{"CorrelationId", func(m *azservicebus.ReceivedMessage) any { return m.CorrelationID }},
	{"ApplicationProperties", func(m *azservicebus.ReceivedMessage) any { return properties(m.ApplicationProperties) }},
	{"UserProperties", func(m *azservicebus.ReceivedMessage) any { return properties(m.ApplicationProperties) }},
	{"SessionId", func(m *azservicebus.ReceivedMessage) any { return m.SessionID }},
	{"ReplyToSessionId", func(m *azservicebus.ReceivedMessage) any { return m.ReplyToSessionID }},
	{"PartitionKey", func(m *azservicebus.ReceivedMessage) any { return m.PartitionKey }},
	{"TransactionPartitionKey", func(m *azservicebus.ReceivedMessage) any { return m.PartitionKey }},
}

// actions sets the binding data that only .NET functions can use; a custom
// handler sees empty objects.
func actions(m *Fields, client BusClient) error {
	for _, name := range []string{"MessageReceiver", "MessageSession", "MessageActions", "SessionActions", "ReceiveActions"} {
		m.Set(name, json.RawMessage("{}"))
	}
	return m.objects("Client", client)
}

// messageBody returns the bytes of a body that is data, or an AMQP value of the
// type string.
func messageBody(msg *azservicebus.ReceivedMessage) ([]byte, error) {
	raw := msg.RawAMQPMessage
	switch {
	case raw == nil:
	case len(raw.Body.Sequence) > 0:
		return nil, fmt.Errorf("%w: it is an AMQP sequence", ErrNoConversion)
	case raw.Body.Value != nil:
		s, ok := raw.Body.Value.(string)
		if !ok {
			return nil, fmt.Errorf("%w: it is an AMQP value of type %T", ErrNoConversion, raw.Body.Value)
		}
		return []byte(s), nil
	}
	return msg.Body, nil
}

// expires is when a message's time to live ends; without one .NET shows the
// last instant it knows.
func expires(msg *azservicebus.ReceivedMessage) time.Time {
	if msg.ExpiresAt == nil || msg.TimeToLive == nil || *msg.TimeToLive <= 0 {
		return time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC)
	}
	return *msg.ExpiresAt
}

func sequence(msg *azservicebus.ReceivedMessage) int64 {
	if msg.SequenceNumber == nil {
		return 0
	}
	return *msg.SequenceNumber
}

func viaPartitionKey(msg *azservicebus.ReceivedMessage) *string {
	if msg.RawAMQPMessage == nil {
		return nil
	}
	if s, ok := msg.RawAMQPMessage.MessageAnnotations["x-opt-via-partition-key"].(string); ok {
		return &s
	}
	return nil
}
