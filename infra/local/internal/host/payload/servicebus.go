package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/uuid"
)

// ErrNotText is returned for a Service Bus message that dataType "string"
// can't show. The invocation fails as in the extension; dataType "binary" is
// the way out.
var ErrNotText = errors.New("message body is not text")

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
	var text string
	data, err := t.single(msg.Body, func() (s string, err error) {
		text, err = messageText(msg)
		return text, err
	})
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
		if t == Binary {
			bodies[i] = nonNil(msg.Body)
			continue
		}
		text, err := messageText(msg)
		if err != nil {
			return inv, err
		}
		bodies[i] = text
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

// messageText converts a body as the extension's converter does: strict UTF-8,
// or a string in an AMQP value section.
func messageText(msg *azservicebus.ReceivedMessage) (string, error) {
	if raw := msg.RawAMQPMessage; raw != nil {
		if len(raw.Body.Sequence) > 0 {
			return "", fmt.Errorf("%w: it is an AMQP sequence", ErrNotText)
		}
		if raw.Body.Value != nil {
			if s, ok := raw.Body.Value.(string); ok {
				return s, nil
			}
			return "", fmt.Errorf("%w: it is an AMQP value of type %T", ErrNotText, raw.Body.Value)
		}
	}
	if !utf8.Valid(msg.Body) {
		contentType := "null"
		if msg.ContentType != nil {
			contentType = *msg.ContentType
		}
		return "", fmt.Errorf("%w: the message with ContentType %q failed to deserialize to a string", ErrNotText, contentType)
	}
	return string(msg.Body), nil
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
