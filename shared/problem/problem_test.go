package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

func TestMarshal(t *testing.T) {
	tests := []struct {
		name string
		in   problem.Problem
		want string
	}{
		{"empty", problem.Problem{}, `{"type":"about:blank"}`},
		{"members in their order", problem.Problem{
			Type: "t", Title: "T", Status: 409, Detail: "d", Instance: "/i",
			Errors:     []problem.Field{{Pointer: "/a/0", Detail: "is wrong"}},
			RetryAfter: time.Second,
		}, `{"type":"t","title":"T","status":409,"detail":"d","instance":"/i","errors":[{"pointer":"/a/0","detail":"is wrong"}]}`},
		{"extensions are flat and can't replace members", problem.Problem{
			Type: "t", Status: 409, Extensions: map[string]any{"state": "Running", "status": 200, "errors": 1},
		}, `{"type":"t","status":409,"state":"Running"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.in)
			if err != nil || string(got) != test.want {
				t.Fatalf("got %s, %v; want %s", got, err, test.want)
			}
			var back, want problem.Problem
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			want = test.in
			want.RetryAfter = 0
			if want.Type == "" {
				want.Type = "about:blank"
			}
			delete(want.Extensions, "status")
			delete(want.Extensions, "errors")
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, body := range []string{`[]`, `"x"`, `{"status":"400"}`, `{`} {
		var p problem.Problem
		if err := json.Unmarshal([]byte(body), &p); err == nil {
			t.Errorf("%s was read as %+v", body, p)
		}
	}
}

func TestWrite(t *testing.T) {
	tests := []struct {
		name       string
		in         problem.Problem
		status     int
		retryAfter string
		body       string
	}{
		{"plain", problem.Problem{Type: "t", Status: 404}, 404, "", `{"type":"t","status":404,"instance":"/api/x"}`},
		{"retry after is rounded up", problem.Problem{Type: "t", Status: 503, RetryAfter: 1100 * time.Millisecond}, 503, "2",
			`{"type":"t","status":503,"instance":"/api/x"}`},
		{"a status that is no failure", problem.Problem{Type: "t", Status: 200}, 500, "", `{"type":"t","status":500,"instance":"/api/x"}`},
		{"what JSON can't say", problem.Problem{Type: "t", Status: 409, Detail: "d", Extensions: map[string]any{"c": make(chan int)}}, 500, "",
			`{"type":"internal","title":"The service failed","status":500,"instance":"/api/x"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			problem.Write(w, httptest.NewRequest(http.MethodGet, "/api/x?secret=1", nil), test.in)
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.body)
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
			if got := w.Header().Get("Retry-After"); got != test.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, test.retryAfter)
			}
		})
	}
}

func TestFrom(t *testing.T) {
	own := problem.New(problem.Gone, "assignment %s", "a-1")
	tests := []struct {
		name       string
		err        error
		status     int
		kind       string
		retryAfter time.Duration
	}{
		{"a problem on its way", fmt.Errorf("assign: %w", own), 410, "gone", 0},
		{"invalid", failure.New(failure.Invalid, "read", "x", errors.New("inside")), 400, "invalid", 0},
		{"not found", fmt.Errorf("get: %w", failure.New(failure.NotFound, "read", "x", nil)), 404, "not-found", 0},
		{"conflict", failure.New(failure.Conflict, "create", "x", nil), 409, "conflict", 0},
		{"permanent", failure.New(failure.Permanent, "create", "x", errors.New("inside")), 500, "internal", 0},
		{"transient", failure.New(failure.Transient, "create", "x", errors.New("inside")), 503, "unavailable", problem.DefaultRetryAfter},
		{"transient with a wish", &failure.Error{Kind: failure.Transient, RetryAfter: time.Minute}, 503, "unavailable", time.Minute},
		{"not judged", errors.New("inside"), 503, "unavailable", problem.DefaultRetryAfter},
		{"body too large", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 10}), 413, "too-large", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := problem.From(test.err)
			if got.Status != test.status || got.Type != test.kind || got.RetryAfter != test.retryAfter {
				t.Errorf("got %+v", got)
			}
			if got.Title == "" {
				t.Error("no title")
			}
			if text, _ := json.Marshal(got); json.Valid(text) && containsInside(string(text)) {
				t.Errorf("the body shows the inside: %s", text)
			}
		})
	}
}

func containsInside(s string) bool {
	for i := range len(s) - len("inside") + 1 {
		if s[i:i+len("inside")] == "inside" {
			return true
		}
	}
	return false
}

func TestTypesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range problem.Types {
		if seen[kind.ID] || kind.Title == "" || kind.Status < 400 || kind.Status > 599 {
			t.Errorf("%+v is listed twice or not complete", kind)
		}
		seen[kind.ID] = true
	}
}

func TestErrorText(t *testing.T) {
	p := problem.New(problem.Invalid, "order %d", 7)
	p.Errors = []problem.Field{{Pointer: "/a", Detail: "is missing"}}
	if got, want := p.Error(), "400 The request breaks a rule: order 7; /a is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
