package backendclient

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var now = time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)

// Every status gives the verdicts that the workflow is built on: a 4xx rejects a
// step only as the backend's own word, which is a problem document with a type.
func TestClassifyEveryStatus(t *testing.T) {
	document := http.Header{"Content-Type": {problem.ContentType}}
	for status := 100; status <= 599; status++ {
		for _, answered := range []struct {
			by     string
			isWord bool
			a      answer
		}{
			{"nobody", false, answer{status: status, header: http.Header{}}},
			{"a platform", false, answer{status: status, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<h1>403 - This web app is stopped.</h1>")}},
			{"a platform with JSON", false, answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(`{"type":"x"}`)}},
			{"a document without a type", false, answer{status: status, header: document, body: []byte(`{"title":"No"}`)}},
			{"a document of no type", false, answer{status: status, header: document, body: []byte(`{"type":"about:blank","title":"No"}`)}},
			{"a document that is cut off", false, answer{status: status, header: document, body: []byte(`{"type":"x"}`), err: errors.New("cut")}},
			{"the backend", true, answer{status: status, header: document, body: []byte(`{"type":"x","title":"No"}`)}},
		} {
			retry, effect := workflow.RetryLater, workflow.EffectMaybe
			switch {
			case status >= 200 && status < 300 && (answered.by == "a platform" || answered.a.err != nil):
			case status >= 200 && status < 300:
				retry, effect = workflow.RetryNone, workflow.EffectYes
			case status == 408:
			case status == 401, status == 429:
				effect = workflow.EffectNo
			case status >= 400 && status < 500 && answered.isWord:
				retry, effect = workflow.RetryNever, workflow.EffectNo
			}
			got := classify(answered.a, now)
			if got.Retry != retry || got.Effect != effect || got.Status != status {
				t.Errorf("%d of %s: got %+v", status, answered.by, got)
			}
			if (got.Message == "") != (retry == workflow.RetryNone) {
				t.Errorf("%d of %s: message %q", status, answered.by, got.Message)
			}
		}
	}
}

func TestClassify(t *testing.T) {
	document := http.Header{"Content-Type": {problem.ContentType}}
	tests := []struct {
		name string
		a    answer
		want workflow.Outcome
	}{
		{"result", answer{status: 200, body: []byte(` {"a":1} `)},
			workflow.Outcome{Effect: workflow.EffectYes, Status: 200, Result: []byte(`{"a":1}`)}},
		{"no result", answer{status: 204}, workflow.Outcome{Effect: workflow.EffectYes, Status: 204}},
		{"blank result", answer{status: 200, body: []byte("\n")}, workflow.Outcome{Effect: workflow.EffectYes, Status: 200}},
		{"no JSON", answer{status: 200, body: []byte(`<html>`)}, workflow.Outcome{Retry: workflow.RetryLater,
			Effect: workflow.EffectMaybe, Status: 200, Type: "unreadable", Message: "the answer is not JSON"}},
		{"half a JSON", answer{status: 200, body: []byte(`{"a":`)}, workflow.Outcome{Retry: workflow.RetryLater,
			Effect: workflow.EffectMaybe, Status: 200, Type: "unreadable", Message: "the answer is not JSON"}},
		{"broken off", answer{status: 201, err: errors.New("cut")}, workflow.Outcome{Retry: workflow.RetryLater,
			Effect: workflow.EffectMaybe, Status: 201, Type: "unreadable", Message: "cut"}},
		{"problem", answer{status: 422, header: document, body: []byte(`{"type":"too-heavy","title":"No drone","detail":"21 kg"}`)},
			workflow.Outcome{Retry: workflow.RetryNever, Status: 422, Type: "too-heavy", Message: "422 No drone: 21 kg"}},
		{"a role is missing", answer{status: 403, header: document, body: []byte(`{"type":"forbidden","title":"Not you"}`)},
			workflow.Outcome{Retry: workflow.RetryLater, Status: 403, Type: "forbidden", Message: "403 Not you"}},
		{"a word on what was asked for", answer{status: 403, header: document, body: []byte(`{"type":"shipped","title":"It is gone"}`)},
			workflow.Outcome{Retry: workflow.RetryNever, Status: 403, Type: "shipped", Message: "403 It is gone"}},
		{"the document's status counts for nothing", answer{status: 404, header: document, body: []byte(`{"type":"x","title":"y","status":503}`)},
			workflow.Outcome{Retry: workflow.RetryNever, Status: 404, Type: "x", Message: "404 y"}},
		{"problem that is none", answer{status: 400, header: document, body: []byte(`[]`)},
			workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 400, Type: "status", Message: "400 Bad Request"}},
		{"problem broken off", answer{status: 409, header: document, err: errors.New("cut")},
			workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 409, Type: "status", Message: "409 Conflict"}},
		{"a stopped app", answer{status: 403, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<html>")},
			workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 403, Type: "status", Message: "403 Forbidden"}},
		{"another media type", answer{status: 500, header: http.Header{"Content-Type": {"text/html"}}, body: []byte(`{"type":"x"}`)},
			workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 500, Type: "status", Message: "500 Internal Server Error"}},
		{"wait", answer{status: 429, header: http.Header{"Retry-After": {"7"}}},
			workflow.Outcome{Retry: workflow.RetryLater, Status: 429, Type: "status", Message: "429 Too Many Requests", RetryAfter: 7 * time.Second}},
		{"wait for a service that is down", answer{status: 503, header: http.Header{"Retry-After": {"Sat, 31 Jan 2026 16:00:30 GMT"}}},
			workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 503, Type: "status",
				Message: "503 Service Unavailable", RetryAfter: 30 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.a.header == nil {
				tt.a.header = http.Header{}
			}
			if diff := cmp.Diff(tt.want, classify(tt.a, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShortKeepsWholeCharacters(t *testing.T) {
	got := short(strings.Repeat("ä", 400) + "x")
	if len(got) > maxMessage+len("…") || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes, %q", len(got), got[len(got)-6:])
	}
	if got := short("all of it"); got != "all of it" {
		t.Errorf("got %q", got)
	}
}
