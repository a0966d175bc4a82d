package payload

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"
)

var (
	when = time.Date(2023, 10, 12, 20, 13, 49, 640_002_000, time.UTC)
	sys  = Sys{MethodName: "Ingest", UtcNow: when, RandGuid: "g"}
)

const sysJSON = `"sys":{"MethodName":"Ingest","UtcNow":"2023-10-12T20:13:49.640002Z","RandGuid":"g"}`

// same compares JSON texts by value and shows the difference.
func same(t *testing.T, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got no JSON: %v: %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want is no JSON: %v", err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("-want +got:\n%s\n%s", diff, got)
	}
}

func encode(t *testing.T, inv Invocation, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out, err := inv.Encode(sys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTextIsJSONTwice(t *testing.T) {
	for _, tc := range []struct {
		in   any
		want string
	}{
		{"stringTest", `"\"stringTest\""`},
		{1, `"1"`},
		{true, `"true"`},
		{[]string{"a", `b"`}, `"[\"a\",\"b\\\"\"]"`},
		{"<a&b>", `"\"<a&b>\""`},
		{"\u0085\u2028", `"\"\\u0085\\u2028\""`},
		{[][]byte{[]byte("hi"), {}}, `"[\"aGk=\",\"\"]"`},
	} {
		got, err := Text(tc.in)
		if err != nil || string(got) != tc.want {
			t.Errorf("Text(%v) = %s, %v; want %s", tc.in, got, err, tc.want)
		}
	}
}

func TestDatesLoseFractionAndZone(t *testing.T) {
	local := when.In(time.FixedZone("", 7200))
	if got := string(DateTime(local)); got != `"2023-10-12T20:13:49"` {
		t.Error(got)
	}
	if got := string(DateTimeOffset(local)); got != `"2023-10-12T20:13:49+00:00"` {
		t.Error(got)
	}
}

func event(body string, seq int64, offset string, at time.Time) *azeventhubs.ReceivedEventData {
	return &azeventhubs.ReceivedEventData{
		EventData:    azeventhubs.EventData{Body: []byte(body), Properties: map[string]any{"k": "v"}},
		EnqueuedTime: &at, PartitionKey: to.Ptr("k1"), Offset: offset, SequenceNumber: seq,
	}
}

var hub = PartitionContext{IsCheckpointingAfterInvocation: true, FullyQualifiedNamespace: "ns.servicebus.windows.net",
	EventHubName: "hub", ConsumerGroup: "$Default", PartitionID: "0"}

const hubJSON = `"PartitionContext":{"IsCheckpointingAfterInvocation":true,"FullyQualifiedNamespace":"ns.servicebus.windows.net","EventHubName":"hub","ConsumerGroup":"$Default","PartitionId":"0"}`

func TestEvent(t *testing.T) {
	e := event(`{"id":7}`, 42, "4294967296", when.Truncate(10*time.Millisecond))
	inv, err := Event("event", String, e, hub)
	same(t, encode(t, inv, err), `{"Data":{"event":"\"{\\\"id\\\":7}\""},"Metadata":{`+hubJSON+`,
		"PartitionKey":"\"k1\"","Offset":"\"4294967296\"","SequenceNumber":"42","EnqueuedTimeUtc":"2023-10-12T20:13:49",
		"Properties":{"k":"v"},
		"SystemProperties":{"x-opt-sequence-number":42,"x-opt-offset":"4294967296","x-opt-enqueued-time":"2023-10-12T20:13:49.64+00:00",
			"SequenceNumber":42,"Offset":"4294967296","PartitionKey":"k1","EnqueuedTimeUtc":"2023-10-12T20:13:49.64"},
		"id":"\"7\"",`+sysJSON+`}}`)

	inv, err = Event("event", Binary, e, hub)
	var wire struct{ Data, Metadata map[string]json.RawMessage }
	if err := json.Unmarshal(encode(t, inv, err), &wire); err != nil {
		t.Fatal(err)
	}
	if got := string(wire.Data["event"]); got != `"eyJpZCI6N30="` {
		t.Errorf("binary data is %s", got)
	}
	if _, leaked := wire.Metadata["id"]; leaked {
		t.Error("a binary body leaked into the metadata")
	}
}

func TestEvents(t *testing.T) {
	events := []*azeventhubs.ReceivedEventData{
		event(`{"id":7}`, 42, "100", when.Truncate(10*time.Millisecond)),
		event(`{"id":8}`, 43, "164", when.Truncate(time.Millisecond).Add(12*time.Millisecond)),
	}
	events[0].Properties, events[1].Properties, events[1].PartitionKey = nil, nil, nil
	inv, err := Events("events", String, events, hub)
	out := encode(t, inv, err)
	var wire struct{ Data, Metadata map[string]json.RawMessage }
	if err := json.Unmarshal(out, &wire); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"PartitionKeyArray":    `"[\"k1\",null]"`,
		"OffsetArray":          `"[\"100\",\"164\"]"`,
		"SequenceNumberArray":  `"[42,43]"`,
		"EnqueuedTimeUtcArray": `"[\"2023-10-12T20:13:49.64\",\"2023-10-12T20:13:49.652\"]"`,
		"PropertiesArray":      `"[{},{}]"`,
	} {
		if got := string(wire.Metadata[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got, want := string(wire.Data["events"]), `"[\"{\\\"id\\\":7}\",\"{\\\"id\\\":8}\"]"`; got != want {
		t.Errorf("data is %s, want %s", got, want)
	}
	inv, err = Events("events", Binary, events, hub)
	if err := json.Unmarshal(encode(t, inv, err), &wire); err != nil {
		t.Fatal(err)
	}
	if got, want := string(wire.Data["events"]), `"[\"eyJpZCI6N30=\",\"eyJpZCI6OH0=\"]"`; got != want {
		t.Errorf("binary data is %s, want %s", got, want)
	}
}

func message(body string) *azservicebus.ReceivedMessage {
	at, expires := when, when
	return &azservicebus.ReceivedMessage{
		Body: []byte(body), MessageID: "id", ContentType: to.Ptr("application/json"), DeliveryCount: 1,
		SequenceNumber: to.Ptr[int64](1), EnqueuedTime: &at, ExpiresAt: &expires, TimeToLive: to.Ptr(time.Hour),
		LockToken: [16]byte{0: 1, 15: 2},
	}
}

func TestMessage(t *testing.T) {
	inv, err := Message("msg", String, message(`{"message":"hello"}`), BusClient{FullyQualifiedNamespace: "ns", Identifier: "ns-guid"})
	same(t, encode(t, inv, err), `{"Data":{"msg":"\"{\\\"message\\\":\\\"hello\\\"}\""},
		"Metadata":{"MessageReceiver":{},"MessageSession":{},"MessageActions":{},"SessionActions":{},"ReceiveActions":{},
		"Client":{"FullyQualifiedNamespace":"ns","IsClosed":false,"TransportType":0,"Identifier":"ns-guid"},
		"DeliveryCount":"1","LockToken":"\"01000000-0000-0000-0000-000000000002\"","MessageId":"\"id\"","ContentType":"\"application/json\"","SequenceNumber":"1",
		"ExpiresAtUtc":"2023-10-12T20:13:49","ExpiresAt":"2023-10-12T20:13:49+00:00",
		"EnqueuedTimeUtc":"2023-10-12T20:13:49","EnqueuedTime":"2023-10-12T20:13:49+00:00",
		"ApplicationProperties":{},"UserProperties":{}, "message":"\"hello\"",`+sysJSON+`}}`)
}

func TestMessageOptionalFields(t *testing.T) {
	m := message("x")
	m.Subject, m.CorrelationID, m.DeadLetterSource = to.Ptr("s"), to.Ptr("c"), to.Ptr("q")
	m.TimeToLive = nil
	m.ApplicationProperties = map[string]any{"DeadLetterReason": "r", "n": int64(3), "f": 2.0, "t": when, "u": amqp.UUID{1}, "b": []byte("hi")}
	inv, err := Message("msg", String, m, BusClient{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Subject": `"\"s\""`, "Label": `"\"s\""`, "CorrelationId": `"\"c\""`, "DeadLetterSource": `"\"q\""`,
		"ExpiresAt":             `"9999-12-31T23:59:59+00:00"`,
		"ApplicationProperties": `{"DeadLetterReason":"r","b":"aGk=","f":2.0,"n":3,"t":"2023-10-12T20:13:49.640002Z","u":"01000000-0000-0000-0000-000000000000"}`,
	} {
		if got := string(inv.Metadata.Get(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"ReplyTo", "SessionId", "To", "TransactionPartitionKey"} {
		if got := inv.Metadata.Get(name); got != nil {
			t.Errorf("%s is %s, want it left out", name, got)
		}
	}
}

func TestMessages(t *testing.T) {
	second := message("b")
	second.ContentType, second.PartitionKey = nil, to.Ptr("p")
	inv, err := Messages("msgs", String, []*azservicebus.ReceivedMessage{message("a"), second}, BusClient{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(inv.Data.Get("msgs")), `"[\"a\",\"b\"]"`; got != want {
		t.Errorf("data is %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"DeliveryCountArray":           `"[1,1]"`,
		"MessageIdArray":               `"[\"id\",\"id\"]"`,
		"ContentTypeArray":             `"[\"application/json\",null]"`,
		"EnqueuedTimeUtcArray":         `"[\"2023-10-12T20:13:49.640002\",\"2023-10-12T20:13:49.640002\"]"`,
		"EnqueuedTimeArray":            `"[\"2023-10-12T20:13:49.640002+00:00\",\"2023-10-12T20:13:49.640002+00:00\"]"`,
		"PartitionKeyArray":            `"[null,\"p\"]"`,
		"TransactionPartitionKeyArray": `"[null,\"p\"]"`,
		"ApplicationPropertiesArray":   `"[{},{}]"`,
	} {
		if got := string(inv.Metadata.Get(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	inv, err = Messages("msgs", Binary, []*azservicebus.ReceivedMessage{message("hi")}, BusClient{})
	if got, want := string(inv.Data.Get("msgs")), `"[\"aGk=\"]"`; err != nil || got != want {
		t.Errorf("binary data is %s, %v; want %s", got, err, want)
	}
}

func TestMessageBodies(t *testing.T) {
	of := func(body azservicebus.AMQPAnnotatedMessageBody) *azservicebus.ReceivedMessage {
		m := message("")
		m.RawAMQPMessage = &azservicebus.AMQPAnnotatedMessage{Body: body}
		return m
	}
	for _, tc := range []struct {
		name  string
		m     *azservicebus.ReceivedMessage
		kind  DataType
		want  string
		fails error
	}{
		{"a string value", of(azservicebus.AMQPAnnotatedMessageBody{Value: "text"}), String, `"\"text\""`, nil},
		{"a string value as bytes", of(azservicebus.AMQPAnnotatedMessageBody{Value: "text"}), Binary, `"dGV4dA=="`, nil},
		{"no UTF-8", message("a\xff"), String, "\"\\\"a\ufffd\\\"\"", nil},
		{"no UTF-8 as bytes", message("a\xff"), Binary, `"Yf8="`, nil},
		{"another value", of(azservicebus.AMQPAnnotatedMessageBody{Value: 7}), String, "", ErrNoConversion},
		{"another value as bytes", of(azservicebus.AMQPAnnotatedMessageBody{Value: []byte("x")}), Binary, "", ErrNoConversion},
		{"a sequence", of(azservicebus.AMQPAnnotatedMessageBody{Sequence: [][]any{{"x"}}}), Binary, "", ErrNoConversion},
	} {
		inv, err := Message("m", tc.kind, tc.m, BusClient{})
		if got := string(inv.Data.Get("m")); !errors.Is(err, tc.fails) || got != tc.want {
			t.Errorf("%s: %s, %v; want %s, %v", tc.name, got, err, tc.want, tc.fails)
		}
		if _, err := Messages("m", tc.kind, []*azservicebus.ReceivedMessage{tc.m}, BusClient{}); !errors.Is(err, tc.fails) {
			t.Errorf("%s, in a batch: %v, want %v", tc.name, err, tc.fails)
		}
	}
}

func TestLeak(t *testing.T) {
	for _, tc := range []struct{ body, name, want string }{
		{`{"MessageId":"x"}`, "MessageId", `"\"x\""`},
		{` { "messageid" : "x" } `, "MessageId", `"\"x\""`},
		{`{"SequenceNumber": 2}`, "SequenceNumber", `"\"2\""`},
		{`{"a":true}`, "a", `"\"True\""`},
		{`{"a":{"b":[1]}}`, "a", `{"b":[1]}`},
		{`{"a":[1]}`, "a", ``},
		{`{"a":null}`, "a", ``},
		{`{"a":"2026-10-12T01:02:03Z"}`, "a", `"\"10/12/2026 01:02:03\""`},
		{`{"a":"2026-10-12T01:02:03.5+02:00"}`, "a", `"\"10/11/2026 23:02:03\""`},
		{`{"a":1}{"a":2}`, "a", ``},
		{`{"a":1`, "a", ``},
		{`[{"a":1}]`, "a", ``},
	} {
		inv, err := Message("m", String, message(tc.body), BusClient{})
		if got := string(inv.Metadata.Get(tc.name)); err != nil || got != tc.want {
			t.Errorf("%s: %s is %s, %v; want %s", tc.body, tc.name, got, err, tc.want)
		}
	}
}

func TestEncodeSkipsTriggerNamesAndAddsRetryContext(t *testing.T) {
	var inv Invocation
	inv.Metadata.Set("queueTRIGGER", json.RawMessage(`"x"`))
	out, err := inv.Encode(sys, &Retry{Count: 1, MaxCount: -1, Err: errors.New("boom")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, out, `{"Data":{},"Metadata":{"RetryContext":{"RetryCount":1,"MaxRetryCount":-1,"Exception":{"Message":"boom"}},`+sysJSON+`}}`)
	if out, err = inv.Encode(sys, &Retry{MaxCount: 4}); err != nil {
		t.Fatal(err)
	}
	same(t, out, `{"Data":{},"Metadata":{"RetryContext":{"RetryCount":0,"MaxRetryCount":4,"Exception":null},`+sysJSON+`}}`)
}

func TestTimer(t *testing.T) {
	inv, err := Timer("timer", true, &ScheduleStatus{Next: when, LastUpdated: when}, true)
	same(t, encode(t, inv, err), `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},
		"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2023-10-12T20:13:49.640002+00:00","LastUpdated":"2023-10-12T20:13:49.640002+00:00"},
		"IsPastDue":true}},"Metadata":{`+sysJSON+`}}`)
	inv, err = Timer("timer", false, nil, false)
	same(t, encode(t, inv, err), `{"Data":{"timer":{"Schedule":{"AdjustForDST":false},"ScheduleStatus":null,"IsPastDue":false}},"Metadata":{`+sysJSON+`}}`)
}

func TestHTTP(t *testing.T) {
	req := HTTPRequest{URL: "http://localhost:7071/api/order?x=1", Method: "POST", Query: map[string][]string{"x": {"1", "2"}},
		Header: map[string][]string{"Content-Type": {"application/json"}}, Params: map[string]string{"no": "5"}, Body: []byte(`{"id":1}`), Length: 8}
	inv, err := HTTP("req", req)
	same(t, encode(t, inv, err), `{"Data":{"req":{"Url":"http://localhost:7071/api/order?x=1","Method":"POST","Query":{"x":"1,2"},
		"Headers":{"Content-Type":["application/json"]},"Params":{"no":"5"},"Identities":[],"Body":"{\"id\":1}"}},
		"Metadata":{"Params":{"no":"5"},"Query":{"x":"1,2"},"Headers":{"Content-Type":"application/json"},"x":"\"1,2\"","no":"\"5\"","id":"\"1\"",`+sysJSON+`}}`)

	req.Header = map[string][]string{"Content-Type": {"application/octet-stream"}}
	if inv, err = HTTP("req", req); err != nil {
		t.Fatal(err)
	}
	var r struct{ Body *string }
	if err := json.Unmarshal(inv.Data.Get("req"), &r); err != nil || r.Body == nil || *r.Body != "eyJpZCI6MX0=" {
		t.Errorf("binary body is %v, %v", r.Body, err)
	}
	req.Length, r.Body = -1, nil
	if inv, err = HTTP("req", req); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(inv.Data.Get("req"), &r); err != nil || r.Body != nil {
		t.Errorf("chunked body is %v, %v; want it left out", r.Body, err)
	}
}
