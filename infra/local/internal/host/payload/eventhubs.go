package payload

import (
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// PartitionContext is where the events of one invocation come from.
type PartitionContext struct {
	// IsCheckpointingAfterInvocation tells whether the host writes a checkpoint
	// when this invocation has ended, well or not.
	IsCheckpointingAfterInvocation bool
	FullyQualifiedNamespace        string
	EventHubName                   string
	ConsumerGroup                  string
	PartitionID                    string `json:"PartitionId"`
}

// Event encodes an Event Hubs invocation of cardinality one. binding is the
// trigger binding's name.
func Event(binding string, t DataType, e *azeventhubs.ReceivedEventData, at PartitionContext) (Invocation, error) {
	var inv Invocation
	text := lossy(e.Body)
	data, err := t.single(e.Body, text)
	if err != nil {
		return inv, err
	}
	inv.Data.Set(binding, data)
	m := &inv.Metadata
	if err := m.objects("PartitionContext", at); err != nil {
		return inv, err
	}
	if err := m.texts("PartitionKey", e.PartitionKey, "Offset", e.Offset, "SequenceNumber", e.SequenceNumber); err != nil {
		return inv, err
	}
	m.Set("EnqueuedTimeUtc", DateTime(enqueued(e)))
	if err := m.objects("Properties", properties(e.Properties), "SystemProperties", systemProperties(e)); err != nil {
		return inv, err
	}
	if t == String {
		err = m.leak(text)
	}
	return inv, err
}

// Events encodes an Event Hubs invocation of cardinality many: one partition's
// events in order.
func Events(binding string, t DataType, events []*azeventhubs.ReceivedEventData, at PartitionContext) (Invocation, error) {
	n := len(events)
	bodies := make([]any, n)
	keys, offsets, times := make([]*string, n), make([]string, n), make([]string, n)
	sequences, props, system := make([]int64, n), make([]map[string]any, n), make([]map[string]any, n)
	for i, e := range events {
		if t == Binary {
			bodies[i] = nonNil(e.Body)
		} else {
			bodies[i] = lossy(e.Body)
		}
		keys[i], offsets[i], sequences[i] = e.PartitionKey, e.Offset, e.SequenceNumber
		times[i] = fraction(enqueued(e))
		props[i], system[i] = properties(e.Properties), systemProperties(e)
	}
	var inv Invocation
	if err := inv.Data.texts(binding, bodies); err != nil {
		return inv, fmt.Errorf("data: %w", err)
	}
	if err := inv.Metadata.objects("PartitionContext", at); err != nil {
		return inv, err
	}
	err := inv.Metadata.texts("PartitionKeyArray", keys, "OffsetArray", offsets, "SequenceNumberArray", sequences,
		"EnqueuedTimeUtcArray", times, "PropertiesArray", props, "SystemPropertiesArray", system)
	return inv, err
}

// systemProperties joins the broker's annotations and the names under which
// the extension repeats them.
func systemProperties(e *azeventhubs.ReceivedEventData) map[string]any {
	out := properties(e.SystemProperties)
	out["x-opt-sequence-number"] = e.SequenceNumber
	out["x-opt-offset"] = e.Offset
	out["x-opt-enqueued-time"] = fractionOffset(enqueued(e))
	out["SequenceNumber"] = e.SequenceNumber
	out["Offset"] = e.Offset
	out["PartitionKey"] = e.PartitionKey
	out["EnqueuedTimeUtc"] = fraction(enqueued(e))
	return out
}

// lossy converts a body to text as the Event Hubs extension does: bytes that
// are no UTF-8 become U+FFFD.
func lossy(body []byte) string { return strings.ToValidUTF8(string(body), "\uFFFD") }

// nonNil keeps an empty body an empty string instead of null.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func enqueued(e *azeventhubs.ReceivedEventData) time.Time { return at(e.EnqueuedTime) }
