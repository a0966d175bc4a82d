package payload

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	r, err := Decode(200, "application/json; charset=utf-8", 99, []byte(`{"outputs":{"Res":{"statusCode":201}},"LOGS":["a",1],"returnvalue":"x","other":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "1"}, r.Logs); diff != "" {
		t.Error(diff)
	}
	if string(r.Output("res")) != `{"statusCode":201}` || string(r.ReturnValue) != `"x"` {
		t.Errorf("output %s, return value %s", r.Output("res"), r.ReturnValue)
	}
}

func TestDecodeFailures(t *testing.T) {
	const js = "application/json"
	for _, tc := range []struct {
		name, contentType, body string
		status                  int
		length                  int64
		want                    error
	}{
		{"ok", js, "{}", 200, 2, nil},
		{"text/json", "text/json", "{}", 201, 2, nil},
		{"not 2xx", js, "{}", 500, 2, ErrStatus},
		{"redirect", js, "{}", 302, 2, ErrStatus},
		{"Go's sniffed type", "text/plain; charset=utf-8", "{}", 200, 2, ErrMediaType},
		{"no type", "", "{}", 200, 2, ErrMediaType},
		{"problem type", "application/problem+json", "{}", 200, 2, ErrMediaType},
		{"broken", js, "{", 200, 1, ErrInvalidJSON},
		{"array", js, "[]", 200, 2, ErrInvalidJSON},
		{"text behind it", js, "{} and more", 200, 11, nil},
		{"an object in the logs", js, `{"Logs":["a",{"b":1}]}`, 200, 22, ErrInvalidJSON},
		{"empty 200", "", "", 200, 0, ErrNoResult},
		{"empty 204", "", "", 204, 0, ErrNoResult},
		{"empty JSON", js, "", 200, 0, ErrNoResult},
		{"null", js, " null\n", 200, 6, ErrNoResult},
		{"empty chunked text", "text/plain", "", 200, -1, ErrMediaType},
	} {
		if _, err := Decode(tc.status, tc.contentType, tc.length, []byte(tc.body)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestDecodeHTTP(t *testing.T) {
	for _, tc := range []struct {
		in, body, contentType string
		status                int
		fails                 bool
	}{
		{`{"statusCode":201,"headers":{"a":"b"},"body":"text"}`, "text", "text/plain; charset=utf-8", 201, false},
		{`{"status":"404","body":{"a":1}}`, `{"a":1}`, "application/json; charset=utf-8", 404, false},
		{`{"statusCode":200,"headers":{"content-type":"text/html"},"body":"<p>"}`, "<p>", "text/html", 200, false},
		{`{}`, "", "", 200, false},
		{`null`, "", "", 200, false},
		{`"just text"`, "just text", "", 200, false},
		{`{"statusCode":"x"}`, "", "", 0, true},
		{`{"statusCode":7}`, "", "", 0, true},
	} {
		got, err := DecodeHTTP(json.RawMessage(tc.in))
		if (err != nil) != tc.fails {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		if err == nil && (got.StatusCode != tc.status || string(got.Body) != tc.body || got.Header.Get("Content-Type") != tc.contentType) {
			t.Errorf("%s: %d %q %q", tc.in, got.StatusCode, got.Body, got.Header.Get("Content-Type"))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Outputs":{"a":1},"Logs":["x"],"ReturnValue":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(200, "application/json", int64(len(body)), body)
		if err != nil {
			return
		}
		if out := r.Output("res"); out != nil {
			_, _ = DecodeHTTP(out) // must not panic
		}
	})
}

// FuzzMessage holds that a body arrives unchanged and that the invocation is
// JSON whatever leaks.
func FuzzMessage(f *testing.F) {
	f.Add(`{"MessageId":"x","n":1.5e3,"d":"2026-10-12T01:02:03Z"}`)
	f.Add("\u2028<\"\\/")
	f.Fuzz(func(t *testing.T, body string) {
		inv, err := Message("m", String, message(body), BusClient{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := inv.Encode(sys, nil)
		if err != nil {
			t.Fatal(err)
		}
		var wire struct{ Data map[string]string }
		if err := json.Unmarshal(out, &wire); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got string
		if err := json.Unmarshal([]byte(wire.Data["m"]), &got); err != nil || got != body {
			t.Fatalf("%q came as %q, %v", body, got, err)
		}
	})
}
