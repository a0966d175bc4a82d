package broker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// What clients in other languages do, and the Go SDKs never do.

// drain gives the credit, as a flow frame with drain does, and waits until the
// source has sent what is there.
func (p *peer) drain(n int) {
	p.t.Helper()
	p.mu.Lock()
	p.credit = n
	p.mu.Unlock()
	emptied := make(chan struct{})
	p.source.Credit(uint32(n), func() { close(emptied) })
	select {
	case <-emptied:
	case <-time.After(2 * time.Minute):
		p.t.Fatal("the drain did not end")
	}
}

// A drain ends behind what is there, and at once when nothing is.
func TestDrain(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	for address, from := range map[string]string{"orders": "orders", "hub/Partitions/0": "hub/ConsumerGroups/relay/Partitions/0"} {
		for range 5 {
			send(t, b, address, "x")
		}
		p := receiver(t, b, amqp.Attach{Address: from})
		for _, c := range []struct{ credit, want int }{{3, 3}, {100, 5}, {100, 5}} {
			p.drain(c.credit)
			if n, _ := p.counts(); n != c.want {
				t.Errorf("%s: %d deliveries after a drain, want %d", from, n, c.want)
			}
		}
	}
}

// delivered sends a payload and gives what a receiver gets.
func delivered(t *testing.T, b *Broker, address, from string, payload []byte) []byte {
	t.Helper()
	if err := transfer(t, b, address, 0, payload); err != nil {
		t.Fatalf("send: %v", err)
	}
	p := receiver(t, b, amqp.Attach{Address: from, Settled: true})
	p.give(1)
	p.wait("a delivery", func() bool { return len(p.got) > 0 })
	return p.got[0].Payload
}

// The count of deliveries is there even when it is 0.
func TestHeaderHasTheDeliveryCount(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	for _, sent := range [][]byte{
		encode(t, goamqp.NewMessage([]byte("x"))),
		{0, 0x53, 0x70, 0x45, 0, 0x53, 0x75, 0xa0, 0},
		{0, 0x53, 0x70, 0x40, 0, 0x53, 0x71, 0x40, 0, 0x53, 0x72, 0x40, 0, 0x53, 0x73, 0x40, 0, 0x53, 0x74, 0x40, 0, 0x53, 0x75, 0xa0, 0},
	} {
		got := delivered(t, b, "orders", "orders", sent)
		parts, err := parseEnvelope(got)
		if err != nil {
			t.Fatal(err)
		}
		v, err := amqp.DecodeValue(parts.header)
		if list, ok := v.([]any); err != nil || !ok || len(list) != 5 || list[4] != uint32(0) {
			t.Errorf("header %v, %v", v, err)
		}
		if bytes.Contains(got, []byte{0, 0x53, 0x74, 0x40}) {
			t.Errorf("a section without a value is passed on: %x", got)
		}
	}
}

// Values of every type pass, in every section, also those that go-amqp has no
// type for.
func TestEveryTypePasses(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	props := map[string]any{
		"null": nil, "bool": true, "ubyte": uint8(1), "ushort": uint16(2), "uint": uint32(3), "ulong": uint64(4), "byte": int8(-1),
		"short": int16(-2), "int": int32(-3), "long": int64(-4), "float": float32(1.5), "double": 2.5, "char": amqp.Char('ü'),
		"decimal32": amqp.Decimal("1234"), "decimal64": amqp.Decimal("12345678"), "decimal128": amqp.Decimal("1234567812345678"),
		"timestamp": time.UnixMilli(1).UTC(), "uuid": amqp.UUID{1}, "binary": []byte("b"), "string": "s", "symbol": amqp.Symbol("y"),
	}
	var payload []byte
	for _, code := range []byte{secMessageAnnotations, secApplication, secValue} {
		var err error
		if payload, err = amqp.AppendValue(append(payload, 0, 0x53, code), props); err != nil {
			t.Fatal(err)
		}
	}
	for address, from := range map[string]string{"orders": "orders", "hub/Partitions/0": "hub/ConsumerGroups/relay/Partitions/0"} {
		parts, err := openEnvelope(delivered(t, b, address, from, payload))
		if err != nil {
			t.Fatal(err)
		}
		for what, value := range map[string][]byte{"annotations": parts.message, "properties": parts.application, "body": parts.body[3:]} {
			v, err := amqp.DecodeValue(value)
			got, ok := v.(map[string]any)
			if err != nil || !ok {
				t.Fatalf("%s %s: %v, %v", from, what, v, err)
			}
			for name, want := range props {
				if v, ok := got[name]; !ok || fmt.Sprintf("%T %v", v, v) != fmt.Sprintf("%T %v", want, want) {
					t.Errorf("%s %s: %s is %T %v", from, what, name, v, v)
				}
			}
		}
	}
}

// JavaScript's deadLetterMessage without reason sends nulls.
func TestDeadLetterWithoutReason(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	send(t, b, "orders", "x")
	p := receiver(t, b, amqp.Attach{Address: "orders", ReceiverSecond: true})
	p.give(1)
	d, _ := p.next()
	err := p.settle(d.Tag, amqp.Outcome{Kind: amqp.Rejected, Error: &amqp.Error{
		Condition: amqp.CondDeadLetter, Info: map[string]any{reasonProperty: nil, descriptionProperty: nil, "mine": nil},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dead := receiver(t, b, amqp.Attach{Address: "orders/$DeadLetterQueue"})
	dead.give(1)
	_, m := dead.next()
	if v, ok := m.ApplicationProperties["mine"]; !ok || v != nil || len(m.ApplicationProperties) != 1 {
		t.Errorf("properties %v", m.ApplicationProperties)
	}
}

func TestTokensOfOtherClients(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct{ audience, resource, kind string }{
		"a signature called jwt": {"amqp://localhost/hub", "amqp://localhost/hub", tokenTypeJWT},
		"port in the audience":   {"sb://localhost:5672/hub/ConsumerGroups/relay/Partitions/0", "sb://localhost/hub", tokenTypeSAS},
		"port in the resource":   {"sb://localhost/hub", "sb://localhost:5672/hub", tokenTypeSAS},
		"two ports":              {"amqp://localhost:1/hub", "amqp://localhost:2/hub", tokenTypeSAS},
	} {
		if err := b.PutToken(t.Context(), amqp.Token{Conn: conn, Audience: c.audience, Type: c.kind, Value: sas(c.resource, testKey, later)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	at := time.Now().Add(-time.Minute)
	err := b.PutToken(t.Context(), amqp.Token{Conn: conn, Audience: "amqp://localhost/hub", Type: tokenTypeSAS, Value: sas("amqp://localhost/hub", testKey, at)})
	if err == nil || !strings.Contains(err.Error(), "ExpiredToken: The token is expired. Expiration time: '"+at.UTC().Format(time.RFC1123)) {
		t.Errorf("expired: %v", err)
	}
}

// A READ may bring its token along.
func TestReadWithToken(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	stranger := amqp.ConnInfo{ID: "stranger", Hostname: "localhost:5672"}
	later := time.Now().Add(time.Hour)
	for token, want := range map[any]string{
		sas("sb://localhost:5672/hub/$management", testKey, later): "", sas("amqp://localhost/hub", testKey, later): "",
		sas("amqp://localhost/hub", "wrong", later): amqp.CondUnauthorizedAccess, sas("amqp://localhost/orders", testKey, later): amqp.CondUnauthorizedAccess,
		"x": amqp.CondUnauthorizedAccess, nil: amqp.CondUnauthorizedAccess,
	} {
		_, err := b.Request(t.Context(), amqp.Request{Conn: stranger, Address: "$management", Properties: map[string]any{
			"operation": "READ", "name": "hub", "type": "com.microsoft:eventhub", "security_token": token,
		}})
		if want != "" {
			wantCondition(t, fmt.Sprint(token), err, want)
		} else if err != nil {
			t.Errorf("%v: %v", token, err)
		}
	}
}

// A client without tokens signs in with the key, for all entities.
func TestSignIn(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	if err := b.SignIn(t.Context(), testKeyName, testKey); err != nil {
		t.Error(err)
	}
	for _, c := range [][2]string{{testKeyName, "wrong"}, {"other", testKey}, {testKeyName, ""}, {"", ""}} {
		wantCondition(t, fmt.Sprint(c), b.SignIn(t.Context(), c[0], c[1]), amqp.CondUnauthorizedAccess)
	}
	for _, address := range []string{"orders", "hub"} {
		if _, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: amqp.ConnInfo{ID: "2", User: testKeyName}, Address: address}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestIdempotentProducersAreRefused(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	for _, address := range []string{"hub", "hub/Partitions/0"} {
		_, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: address, Capabilities: []string{"x", idempotentCapability}})
		wantCondition(t, address, err, amqp.CondNotImplemented)
	}
}

// A reader that asks for it is told with each event where the partition's end is.
func TestRuntimeMetric(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	send(t, b, "hub/Partitions/1", "a", "b")
	attach := amqp.Attach{Address: "hub/ConsumerGroups/relay/Partitions/1"}
	p := receiver(t, b, attach)
	p.give(1)
	if _, m := p.next(); len(m.DeliveryAnnotations) != 0 {
		t.Errorf("nobody asked for %v", m.DeliveryAnnotations)
	}
	attach.Capabilities = []string{metricsCapability}
	attach.Conn = conn
	p = newPeer(t)
	s, options, err := b.OpenSource(t.Context(), attach, p)
	if err != nil || len(options.Capabilities) != 1 {
		t.Fatal(options, err)
	}
	p.source = s
	t.Cleanup(s.Close)
	p.give(1)
	_, m := p.next()
	a := m.DeliveryAnnotations
	if a["last_enqueued_sequence_number"] != int64(1) || a["last_enqueued_offset"] == "-1" {
		t.Errorf("delivery annotations %v", a)
	}
	for _, name := range []any{"last_enqueued_time_utc", "runtime_info_retrieval_time_utc"} {
		if _, ok := a[name].(time.Time); !ok {
			t.Errorf("%s is %T", name, a[name])
		}
	}
}

// Descriptors of sections may be symbols; receivers get codes, which all of them
// read, in a batch, too.
func TestSymbolicSections(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	symbolic := func(name string, value ...byte) []byte {
		return append(append([]byte{0, 0xa3, byte(len(name))}, name...), value...)
	}
	payload := slices.Concat(
		symbolic("amqp:header:list", 0x45),
		symbolic("amqp:properties:list", 0xc0, 4, 1, 0xa1, 1, 'i'),
		[]byte{0, 0x53, secApplication, 0xc1, 1, 0},
		symbolic("amqp:data:binary", 0xa0, 1, 'x'),
		symbolic("amqp:data:binary", 0xa0, 1, 'y'),
		symbolic("amqp:footer:map", 0xc1, 1, 0),
	)
	batch := symbolic("amqp:data:binary", append([]byte{0xa0, byte(len(payload))}, payload...)...)
	for address, from := range map[string]string{"orders": "orders", "hub/Partitions/0": "hub/ConsumerGroups/relay/Partitions/0"} {
		p := receiver(t, b, amqp.Attach{Address: from, Settled: true})
		p.give(2)
		for i, send := range []struct {
			format  uint32
			payload []byte
		}{{0, payload}, {batchFormat, batch}} {
			if err := transfer(t, b, address, send.format, send.payload); err != nil {
				t.Fatalf("%s, format %x: %v", address, send.format, err)
			}
			p.wait("a delivery", func() bool { return len(p.got) > i })
			var m goamqp.Message
			if err := m.UnmarshalBinary(p.got[i].Payload); err != nil || m.Properties.MessageID != "i" || string(slices.Concat(m.Data...)) != "xy" {
				t.Errorf("%s, format %x: %v, %+v", from, send.format, err, m)
			}
		}
	}
	wantCondition(t, "an unknown section", transfer(t, b, "orders", 0, symbolic("amqp:nothing:list", 0x45)), amqp.CondDecodeError)
}
