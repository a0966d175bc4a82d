package broker

import (
	"bytes"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func fullMessage() *goamqp.Message {
	subject := "s"
	return &goamqp.Message{
		Header:                &goamqp.MessageHeader{Durable: true, TTL: time.Hour, Priority: 4},
		DeliveryAnnotations:   goamqp.Annotations{"d": int64(1)},
		Annotations:           goamqp.Annotations{"a": goamqp.UUID{1}, "l": []any{"x", int32(1)}},
		Properties:            &goamqp.MessageProperties{MessageID: "id", Subject: &subject},
		ApplicationProperties: map[string]any{"big": string(make([]byte, 300)), "t": time.Unix(1, 0).UTC()},
		Data:                  [][]byte{[]byte("one"), make([]byte, 500)},
		Footer:                goamqp.Annotations{"f": true},
	}
}

func TestEnvelopeComesTogetherAgain(t *testing.T) {
	payload := encode(t, fullMessage())
	parts, err := openEnvelope(payload)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(parts envelope) []byte {
		return parts.withProperties(appendSection(nil, secProperties, parts.properties))
	}
	if !bytes.Equal(whole(parts), payload) {
		t.Error("the parts don't make the whole")
	}
	for n := 1; n < len(payload); n++ {
		parts, err := parseEnvelope(payload[:n])
		// Cut between two sections it is a shorter message.
		if err == nil && len(whole(parts)) != n {
			t.Fatalf("cut to %d bytes: %d", n, len(whole(parts)))
		}
	}
	for _, bad := range [][]byte{
		{1}, {0, 0x53}, {0, 0x53, 0x79, 0x40}, {0, 0x53, 0x75}, {0, 0x53, 0x75, 0x10}, {0, 0x53, 0x75, 0xa0},
		{0, 0x53, 0x75, 0xb0, 0xff, 0xff, 0xff, 0xff}, {0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0x75, 0x40},
	} {
		if _, err := parseEnvelope(bad); err == nil {
			t.Errorf("%x was taken", bad)
		}
	}
}

func TestBatchRefusals(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	inner := encode(t, goamqp.NewMessage([]byte("x")))
	batch := func(m *goamqp.Message) []byte { return encode(t, m) }
	for name, c := range map[string]struct {
		to        string
		format    uint32
		payload   []byte
		condition string
	}{
		"empty batch":          {"orders", batchFormat, nil, amqp.CondDecodeError},
		"broken batch":         {"orders", batchFormat, []byte("x"), amqp.CondDecodeError},
		"broken message":       {"orders", batchFormat, batch(&goamqp.Message{Data: [][]byte{inner, []byte("x")}}), amqp.CondDecodeError},
		"data is no binary":    {"orders", batchFormat, []byte{0, 0x53, 0x75, 0x40}, amqp.CondDecodeError},
		"value can't be read":  {"orders", 0, []byte{0, 0x53, 0x77, 0x73, 0xff, 0, 0, 0}, amqp.CondDecodeError},
		"subject is no text":   {"orders", 0, []byte{0, 0x53, 0x73, 0xc0, 6, 4, 0x40, 0x40, 0x40, 0x50, 1}, amqp.CondDecodeError},
		"schedule is no time":  {"orders", 0, batch(&goamqp.Message{Annotations: goamqp.Annotations{annSchedule: "x"}, Data: [][]byte{nil}}), amqp.CondInvalidField},
		"reason is no text":    {"orders", 0, batch(&goamqp.Message{ApplicationProperties: map[string]any{reasonProperty: int32(1)}, Data: [][]byte{nil}}), amqp.CondInvalidField},
		"too large":            {"orders", 0, make([]byte, defaultMaxMessageBytes+1), amqp.CondMessageSizeExceeded},
		"too large event":      {"hub", 0, make([]byte, maxEventBytes+1), amqp.CondMessageSizeExceeded},
		"broken event":         {"hub", batchFormat, batch(&goamqp.Message{Data: [][]byte{inner, []byte("x")}}), amqp.CondDecodeError},
		"key is no text":       {"hub", 0, batch(&goamqp.Message{Annotations: goamqp.Annotations{annPartitionKey: int32(1)}}), amqp.CondInvalidField},
		"key for a partition":  {"hub/Partitions/0", 0, batch(&goamqp.Message{Annotations: goamqp.Annotations{annPartitionKey: "k"}}), amqp.CondNotAllowed},
		"annotations are none": {"hub", 0, []byte{0, 0x53, 0x72, 0xa0, 0}, amqp.CondDecodeError},
	} {
		wantCondition(t, name, transfer(t, b, c.to, c.format, c.payload), c.condition)
	}
	if s := b.Stats(); s.Queues[0].Active != 0 || s.Hubs[0].Partitions[0].Last != -1 || s.Hubs[0].Partitions[1].Last != -1 {
		t.Errorf("something was taken: %+v", s)
	}
}

// FuzzMessage: whatever a queue or a hub takes can be delivered, and decoded by
// whoever knows the standard.
func FuzzMessage(f *testing.F) {
	full, err := fullMessage().MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte{0, 0x53, 0x75, 0xa0, 1, 'x'})
	f.Fuzz(func(t *testing.T, payload []byte) {
		check := func(encoded []byte, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%x can't be delivered: %v", payload, err)
			}
			if _, err := parseEnvelope(encoded); err != nil {
				t.Fatalf("%x is delivered as %x, which nobody can decode: %v", payload, encoded, err)
			}
		}
		if m, err := parseMessage(payload); err == nil {
			encoded, err := encodeReceived(queue.Received{
				SequenceNumber: 1, TTL: m.TTL, Token: queue.Token{1}, LockedUntil: time.Unix(1, 0),
				Properties: queue.Properties{"p": []byte{0, 0x53, 0x77, 0x41}}, DeadLetter: &queue.Reason{Reason: "r"},
			}, m.Body, "orders", true)
			check(encoded, err)
		}
		for _, format := range []uint32{0, batchFormat} {
			key, events, err := readEvents(amqp.Transfer{Payload: payload, Format: format})
			if err != nil {
				continue
			}
			for _, body := range events {
				check(encodeEvent(&eventlog.Event{HasKey: key != nil, EnqueuedAt: time.Unix(1, 0)}, body, nil))
			}
		}
	})
}
