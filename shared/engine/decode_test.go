package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

var acceptedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestEncodeDecode(t *testing.T) {
	largest := json.RawMessage(`"` + strings.Repeat("<", engine.MaxBody-2) + `"`)
	for name, e := range map[string]engine.Envelope{
		"start": {
			Schema: 2, TransactionID: "t-1", OperationID: "op_1.x", Operation: "start", AcceptedAt: acceptedAt,
			Caller: "c", TraceParent: "00-1-2-01", Body: json.RawMessage(`{"a":"<&>"}`),
		},
		"reschedule":   {Schema: 2, TransactionID: "t-1", OperationID: "o", Operation: "reschedule", AcceptedAt: acceptedAt, Body: json.RawMessage(`{}`)},
		"cancel":       {Schema: 2, TransactionID: "t-1", OperationID: "o", Operation: "cancel", AcceptedAt: acceptedAt},
		"wake":         {Schema: 2, TransactionID: strings.Repeat("x", 64), Wake: 3},
		"largest body": {Schema: 2, TransactionID: "t", OperationID: "o", Operation: "start", AcceptedAt: acceptedAt, Body: largest},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	op := func(change string) string {
		return strings.Replace(`{"schema":2,"transactionId":"t","operationId":"o","operation":"start","acceptedAt":"2026-03-01T12:00:00Z","body":{}}`,
			strings.Split(change, "→")[0], strings.Split(change, "→")[1], 1)
	}
	for name, tc := range map[string]struct {
		body   string
		want   error
		reason string
	}{
		"empty":                  {"", engine.ErrUnreadable, "malformed"},
		"not JSON":               {"hello", engine.ErrUnreadable, "malformed"},
		"an array":               {"[]", engine.ErrUnreadable, "malformed"},
		"null":                   {"null", engine.ErrUnreadable, "schema 0"},
		"cut short":              {`{"schema":2,"transactionId":"t"`, engine.ErrUnreadable, "malformed"},
		"no schema":              {op(`"schema":2,→`), engine.ErrUnreadable, "schema 0"},
		"negative schema":        {op(`"schema":2→"schema":-1`), engine.ErrUnreadable, "schema -1"},
		"newer schema":           {`{"schema":3,"transactionId":{"of":"another form"}}`, engine.ErrNewerSchema, "3"},
		"no transaction":         {op(`"transactionId":"t",→`), engine.ErrUnreadable, "transactionId"},
		"transaction with slash": {op(`"t"→"a/b"`), engine.ErrUnreadable, "transactionId"},
		"transaction of dots":    {op(`"t"→".."`), engine.ErrUnreadable, "transactionId"},
		"transaction with line":  {op(`"t"→"a\n"`), engine.ErrUnreadable, "transactionId"},
		"long transaction":       {op(`"t"→"` + strings.Repeat("x", 65) + `"`), engine.ErrUnreadable, "transactionId"},
		"no operation id":        {op(`"operationId":"o",→`), engine.ErrUnreadable, "operationId"},
		"bad operation id":       {op(`"o"→"ö"`), engine.ErrUnreadable, "operationId"},
		"unknown operation":      {op(`start→explode`), engine.ErrUnreadable, "explode"},
		"nothing":                {`{"schema":2,"transactionId":"t"}`, engine.ErrUnreadable, "neither"},
		"wake and body":          {`{"schema":2,"transactionId":"t","wake":1,"body":{}}`, engine.ErrUnreadable, "neither"},
		"wake and operation":     {op(`"schema":2→"schema":2,"wake":1`), engine.ErrUnreadable, "both"},
		"negative wake":          {`{"schema":2,"transactionId":"t","wake":-1}`, engine.ErrUnreadable, "wake -1"},
		"no time":                {op(`"acceptedAt":"2026-03-01T12:00:00Z",→`), engine.ErrUnreadable, "acceptedAt"},
		"bad time":               {op(`2026-03-01→yesterday`), engine.ErrUnreadable, "malformed"},
		"no body":                {op(`,"body":{}→`), engine.ErrUnreadable, "without a body"},
		"null body":              {op(`{}}→null}`), engine.ErrUnreadable, "without a body"},
		"large body":             {op(`{}}→"` + strings.Repeat("x", engine.MaxBody) + `"}`), engine.ErrUnreadable, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Decode([]byte(tc.body))
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("error %v, want %v with %q", err, tc.want, tc.reason)
			}
		})
	}
}

// Ensure fields that a later version adds are no reason to refuse.
func TestDecodeIgnoresUnknownFields(t *testing.T) {
	e, err := engine.Decode([]byte(`{"schema":2,"transactionId":"t","wake":2,"colour":"red"}`))
	if err != nil || e.Wake != 2 {
		t.Errorf("envelope %+v, error %v", e, err)
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	if _, err := (engine.Envelope{TransactionID: "a/b", Wake: 1}).Encode(); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("error %v, want ErrUnreadable", err)
	}
}

func TestWakeID(t *testing.T) {
	if got := engine.WakeID("t-1", "transactions", 12); got != "t-1/transactions/12" {
		t.Errorf("id %q", got)
	}
}

// Ensure Decode never panics, tells one of its two errors, and reads what it
// has read once more after Encode.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"schema":2,"transactionId":"t","operationId":"o","operation":"start","acceptedAt":"2026-03-01T12:00:00Z","body":{"a":[1,"<"]}}`,
		`{"schema":2,"transactionId":"t","operationId":"o","operation":"cancel","acceptedAt":"2026-03-01T12:00:00+01:00"}`,
		`{"schema":2,"transactionId":"t","wake":7,"traceparent":"00-1-2-01"}`,
		`{"schema":9}`, `{"SCHEMA":1,"TransactionID":"t","Wake":1}`, `[]`, `null`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := engine.Decode(body)
		if err != nil {
			if !errors.Is(err, engine.ErrUnreadable) && !errors.Is(err, engine.ErrNewerSchema) {
				t.Fatalf("error %v is neither", err)
			}
			return
		}
		again, err := e.Encode()
		if err != nil {
			t.Fatalf("encode %+v: %v", e, err)
		}
		e2, err := engine.Decode(again)
		if err != nil {
			t.Fatalf("decode %s: %v", again, err)
		}
		if e2.TransactionID != e.TransactionID || e2.OperationID != e.OperationID || e2.Wake != e.Wake || !e2.AcceptedAt.Equal(e.AcceptedAt) {
			t.Errorf("%+v came back as %+v", e, e2)
		}
	})
}

// Ensure that messages of before there was a second business are read on.
func TestDecodeOfSchema1(t *testing.T) {
	const rest = `"transactionId":"t","operationId":"o","acceptedAt":"2026-03-01T12:00:00Z"`
	for body, want := range map[string]string{
		`{"schema":1,"operation":"deliver",` + rest + `,"body":{}}`: "start",
		`{"schema":1,"operation":"cancel",` + rest + `}`:            "cancel",
		`{"schema":1,"transactionId":"t","wake":3}`:                 "",
	} {
		e, err := engine.Decode([]byte(body))
		if err != nil || e.Operation != want || e.Schema != engine.EnvelopeSchema {
			t.Errorf("%s: %+v, %v", body, e, err)
		}
	}
	if _, err := engine.Decode([]byte(`{"schema":2,"operation":"deliver",` + rest + `,"body":{}}`)); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("deliver of schema 2: %v", err)
	}
}
