package customhandler

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the host sends, as functions-host's encodings make it. The payloads are
// binary, as in our function.json; MessageId and the like are encoded twice.
const (
	serviceBusOne = `{"Data":{"message":"eyJpZCI6N30="},
 "Metadata":{"MessageReceiver":{},"MessageSession":{},"MessageActions":{},"SessionActions":{},"ReceiveActions":{},
  "Client":{"FullyQualifiedNamespace":"ns","IsClosed":false,"TransportType":0,"Identifier":"ns-guid"},
  "DeliveryCount":"1","LockToken":"\"5b3d\"","MessageId":"\"id/deliveries/1\"","ContentType":"\"application/json\"","SequenceNumber":"1",
  "ExpiresAtUtc":"2023-10-12T20:13:49","ExpiresAt":"2023-10-12T20:13:49+00:00",
  "EnqueuedTimeUtc":"2023-10-12T20:13:49","EnqueuedTime":"2023-10-12T20:13:49+00:00",
  "ApplicationProperties":{"DeadLetterReason":"MaxDeliveryCountExceeded"},"UserProperties":{},
  "sys":{"MethodName":"Schedule","UtcNow":"2023-10-12T20:13:49.640002Z","RandGuid":"8d1"}}}`

	eventHubMany = `{"Data":{"events":"[\"eyJpZCI6N30=\",\"eyJpZCI6OH0=\"]"},
 "Metadata":{"PartitionContext":{"IsCheckpointingAfterInvocation":true,"FullyQualifiedNamespace":"ns.servicebus.windows.net","EventHubName":"hub","ConsumerGroup":"relay","PartitionId":"3"},
  "PartitionKeyArray":"[\"k1\",null]","OffsetArray":"[\"100\",\"164\"]","SequenceNumberArray":"[42,43]",
  "EnqueuedTimeUtcArray":"[\"2023-10-12T20:13:49.64\",\"2023-10-12T20:13:49.652\"]",
  "PropertiesArray":"[{},{\"traceparent\":\"00-x\"}]","SystemPropertiesArray":"[{\"x-opt-sequence-number\":42},{}]",
  "RetryContext":{"RetryCount":2,"MaxRetryCount":-1},"sys":{"MethodName":"Relay"}}}`

	eventHubOneString = `{"Data":{"event":"\"{\\\"id\\\":7}\""},
 "Metadata":{"PartitionKey":"\"k1\"","Offset":"4294967296","SequenceNumber":"42","EnqueuedTimeUtc":"2023-10-12T20:13:49","id":"\"7\""}}`

	eventHubManyString = `{"Data":{"events":"[\"{\\\"id\\\":7}\",\"{\\\"id\\\":8}\"]"},"Metadata":{}}`

	timerInvocation = `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2023-10-12T20:13:49"},"IsPastDue":false}},"Metadata":{"sys":{}}}`
)

func mustDecode(t *testing.T, body string) *Invocation {
	t.Helper()
	i, err := decode("i-1", "F", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// check compares the value of an accessor that must not fail.
func check[T any](t *testing.T, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestServiceBusMessage(t *testing.T) {
	i := mustDecode(t, serviceBusOne)
	at := time.Date(2023, 10, 12, 20, 13, 49, 0, time.UTC)
	check(t, "payload", []byte(`{"id":7}`))(i.Bytes("message"))
	check(t, "MessageId", "id/deliveries/1")(i.Metadata.String("MessageId"))
	check(t, "DeliveryCount", int64(1))(i.Metadata.Int("DeliveryCount"))
	check(t, "SequenceNumber", int64(1))(i.Metadata.Int("SequenceNumber"))
	check(t, "EnqueuedTimeUtc", at)(i.Metadata.Time("EnqueuedTimeUtc"))
	check(t, "EnqueuedTime", at)(i.Metadata.Time("EnqueuedTime"))
	check(t, "ApplicationProperties", map[string]json.RawMessage{"DeadLetterReason": json.RawMessage(`"MaxDeliveryCountExceeded"`)})(
		i.Metadata.Object("ApplicationProperties"))
	if i.Metadata.Has("SessionId") || !i.Metadata.Has("MessageId") {
		t.Error("Has is wrong")
	}
}

func TestEventHubBatch(t *testing.T) {
	i := mustDecode(t, eventHubMany)
	check(t, "payloads", [][]byte{[]byte(`{"id":7}`), []byte(`{"id":8}`)})(i.BytesArray("events"))
	check(t, "SequenceNumberArray", []int64{42, 43})(i.Metadata.Ints("SequenceNumberArray"))
	check(t, "EnqueuedTimeUtcArray", []time.Time{
		time.Date(2023, 10, 12, 20, 13, 49, 640e6, time.UTC), time.Date(2023, 10, 12, 20, 13, 49, 652e6, time.UTC),
	})(i.Metadata.Times("EnqueuedTimeUtcArray"))
	check(t, "PropertiesArray", []map[string]json.RawMessage{{}, {"traceparent": json.RawMessage(`"00-x"`)}})(
		i.Metadata.Objects("PropertiesArray"))
	partition, err := i.Metadata.Object("PartitionContext")
	if err != nil || string(partition["PartitionId"]) != `"3"` {
		t.Errorf("PartitionContext: %v, %v", partition, err)
	}
}

func TestOtherPayloads(t *testing.T) {
	check(t, "string payload", []byte(`{"id":7}`))(mustDecode(t, eventHubOneString).Bytes("event"))
	check(t, "older offset", "4294967296")(mustDecode(t, eventHubOneString).Metadata.String("Offset"))
	check(t, "older offset as number", int64(4294967296))(mustDecode(t, eventHubOneString).Metadata.Int("Offset"))
	check(t, "string payloads", [][]byte{[]byte(`{"id":7}`), []byte(`{"id":8}`)})(mustDecode(t, eventHubManyString).BytesArray("events"))
	if _, ok := mustDecode(t, timerInvocation).Data["timer"]; !ok {
		t.Error("no timer")
	}
}

func TestPayloadTolerates(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"base64", `"aGVsbG8="`, "hello"},
		{"base64 that reads like null", `"null"`, "\x9e\xe9\x65"},
		{"empty", `""`, ""},
		{"text that is no base64", `"hello!"`, "hello!"},
		{"text encoded twice", `"\"hello\""`, "hello"},
		{"text encoded twice that is base64", `"\"aGVsbG8=\""`, "aGVsbG8="},
		{"escapes that only JSON knows", `"\"\\ud83d\\ude00\\/\""`, "😀/"},
		{"object", `{"id":7}`, `{"id":7}`},
		{"array", `[1]`, `[1]`},
		{"text of an object", `"{\"id\":7}"`, `{"id":7}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i := &Invocation{Data: map[string]json.RawMessage{"x": json.RawMessage(test.raw)}}
			check(t, "payload", []byte(test.want))(i.Bytes("x"))
		})
	}
	i := &Invocation{Data: map[string]json.RawMessage{
		"plain":   json.RawMessage(`["aGk=",{"id":7}]`),
		"wrapped": json.RawMessage(`"[\"aGk=\",{\"id\":7}]"`),
		"empty":   json.RawMessage(`"[]"`),
	}}
	for _, name := range []string{"plain", "wrapped"} {
		check(t, name, [][]byte{[]byte("hi"), []byte(`{"id":7}`)})(i.BytesArray(name))
	}
	check(t, "empty", [][]byte{})(i.BytesArray("empty"))
}

func TestMetadataTolerates(t *testing.T) {
	m := Metadata{
		"number": json.RawMessage(`5`), "once": json.RawMessage(`"5"`), "twice": json.RawMessage(`"\"5\""`),
		"array": json.RawMessage(`[1,"2","\"3\""]`), "z": json.RawMessage(`"2023-10-12T20:13:49.5Z"`),
		"offset": json.RawMessage(`"\"2023-10-12T22:13:49+02:00\""`), "objects": json.RawMessage(`"[null,{}]"`),
		"wrapped": json.RawMessage(`"{\"a\":1}"`),
	}
	for _, name := range []string{"number", "once", "twice"} {
		check(t, name, int64(5))(m.Int(name))
		check(t, name, "5")(m.String(name))
	}
	check(t, "array", []int64{1, 2, 3})(m.Ints("array"))
	check(t, "z", time.Date(2023, 10, 12, 20, 13, 49, 5e8, time.UTC))(m.Time("z"))
	check(t, "offset", time.Date(2023, 10, 12, 20, 13, 49, 0, time.UTC))(m.Time("offset"))
	check(t, "objects", []map[string]json.RawMessage{nil, {}})(m.Objects("objects"))
	check(t, "wrapped", map[string]json.RawMessage{"a": json.RawMessage("1")})(m.Object("wrapped"))
}

func TestMetadataRefuses(t *testing.T) {
	m := Metadata{"text": json.RawMessage(`"\"x\""`), "null": json.RawMessage(`null`), "mixed": json.RawMessage(`"[1,\"x\"]"`)}
	calls := map[string]func(string) error{
		"Int":     func(name string) error { _, err := m.Int(name); return err },
		"Time":    func(name string) error { _, err := m.Time(name); return err },
		"Object":  func(name string) error { _, err := m.Object(name); return err },
		"Ints":    func(name string) error { _, err := m.Ints(name); return err },
		"Times":   func(name string) error { _, err := m.Times(name); return err },
		"Objects": func(name string) error { _, err := m.Objects(name); return err },
	}
	for accessor, call := range calls {
		if err := call("text"); err == nil || errors.Is(err, ErrMissing) {
			t.Errorf("%s of a text: %v", accessor, err)
		}
		for _, name := range []string{"null", "nothing"} {
			if err := call(name); !errors.Is(err, ErrMissing) {
				t.Errorf("%s of %s: %v", accessor, name, err)
			}
		}
	}
	if _, err := m.Ints("mixed"); err == nil {
		t.Error("a text among numbers was read")
	}
	if _, err := m.String("nothing"); !errors.Is(err, ErrMissing) {
		t.Errorf("String of nothing: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, body := range []string{``, `null`, `[]`, `{`, `{"Metadata":{}}`, `{"Data":[]}`, `{"Data":{},"Metadata":1}`} {
		if i, err := decode("i-1", "F", []byte(body)); err == nil {
			t.Errorf("%s was read as %+v", body, i)
		}
	}
	i := mustDecode(t, `{"Data":{"x":"y"},"New":1}`)
	if _, err := i.Bytes("z"); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
	if _, err := i.BytesArray("z"); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
	if _, err := i.BytesArray("x"); err == nil {
		t.Error("a text was read as an array")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{serviceBusOne, eventHubMany, eventHubOneString, eventHubManyString, timerInvocation, `{"Data":{"x":null}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		i, err := decode("i-1", "F", body)
		if err != nil {
			return
		}
		for name := range i.Data {
			if _, err := i.Bytes(name); err != nil {
				t.Fatalf("payload %s: %v", name, err)
			}
			_, _ = i.BytesArray(name)
		}
		for name := range i.Metadata {
			text, err := i.Metadata.String(name)
			if i.Metadata.Has(name) != (err == nil) {
				t.Fatalf("String of %s: %q, %v", name, text, err)
			}
			_, _ = i.Metadata.Int(name)
			_, _ = i.Metadata.Time(name)
			_, _ = i.Metadata.Objects(name)
		}
	})
}

// FuzzPayload holds that whatever bytes the host encodes come out as they were.
func FuzzPayload(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte{0, 255})
	f.Add([]byte("\x9e\xe9\x65"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := base64.StdEncoding.EncodeToString(data)
		one, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		array, err := json.Marshal([]string{text, text})
		if err != nil {
			t.Fatal(err)
		}
		many, err := json.Marshal(string(array))
		if err != nil {
			t.Fatal(err)
		}
		i := &Invocation{Data: map[string]json.RawMessage{"one": one, "many": many}}
		got, err := i.Bytes("one")
		if err != nil || string(got) != string(data) {
			t.Fatalf("one: %q became %q, %v", data, got, err)
		}
		all, err := i.BytesArray("many")
		if err != nil || len(all) != 2 || string(all[1]) != string(data) {
			t.Fatalf("many: %q became %q, %v", data, all, err)
		}
	})
}
