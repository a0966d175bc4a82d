package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestLoggerAddsWhatTheContextCarries(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, slog.LevelInfo)
	ctx := telemetry.With(context.Background(), slog.String(telemetry.KeyInvocation, "i-1"))
	other := telemetry.With(ctx, slog.String(telemetry.KeyTransaction, "t-2"))
	ctx = telemetry.With(ctx, slog.String(telemetry.KeyTransaction, "t-1"))
	trace, err := telemetry.ParseTrace(parent)
	if err != nil {
		t.Fatal(err)
	}
	log.With("a", 1).InfoContext(telemetry.WithTrace(ctx, trace), "done", telemetry.KeyStep, "drone")
	log.InfoContext(other, "second", telemetry.KeyInvocation, "own")
	log.Info("third")
	log.DebugContext(ctx, "not shown")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []map[string]any{
		{"msg": "done", "a": 1.0, "step": "drone", "invocation.id": "i-1", "transaction.id": "t-1",
			"trace.id": "4bf92f3577b34da6a3ce929d0e0e4736", "span.id": "00f067aa0ba902b7"},
		{"msg": "second", "invocation.id": "own", "transaction.id": "t-2"},
		{"msg": "third"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, line := range lines {
		if strings.Count(line, telemetry.KeyInvocation) > 1 {
			t.Errorf("a key is there twice: %s", line)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if at, _ := got["time"].(string); !strings.HasSuffix(at, "Z") || got["level"] != "INFO" {
			t.Errorf("time %v, level %v", got["time"], got["level"])
		}
		delete(got, "time")
		delete(got, "level")
		if len(got) != len(want[i]) {
			t.Errorf("line %d: got %v, want %v", i, got, want[i])
		}
		for k, v := range want[i] {
			if got[k] != v {
				t.Errorf("line %d: %s is %v, want %v", i, k, got[k], v)
			}
		}
	}
}

func TestParseTrace(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"version 00", parent, parent},
		{"not sampled", strings.TrimSuffix(parent, "01") + "00", strings.TrimSuffix(parent, "01") + "00"},
		{"unknown flags", strings.TrimSuffix(parent, "01") + "ff", parent},
		{"newer version", "cc" + parent[2:] + "-more", parent},
		{"newer version, nothing more", "01" + parent[2:], parent},
		{"empty", "", ""},
		{"too long for version 00", parent + "-more", ""},
		{"newer version, glued", "cc" + parent[2:] + "more", ""},
		{"version ff", "ff" + parent[2:], ""},
		{"upper case", strings.ToUpper(parent), ""},
		{"no hexadecimal", "00-zbf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
		{"zero trace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"zero span", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{"dashes", strings.ReplaceAll(parent, "-", "_"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := telemetry.ParseTrace(test.in)
			if test.want == "" {
				if err == nil {
					t.Errorf("accepted as %s", got)
				}
				return
			}
			if err != nil || got.String() != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestChild(t *testing.T) {
	trace, err := telemetry.ParseTrace(parent)
	if err != nil {
		t.Fatal(err)
	}
	child := trace.Child()
	if child.TraceID() != trace.TraceID() || child.SpanID() == trace.SpanID() {
		t.Errorf("child of %s is %s", trace, child)
	}
	if trace.String() != parent {
		t.Error("the parent was changed")
	}
}

func TestContinueTrace(t *testing.T) {
	ctx := telemetry.ContinueTrace(context.Background(), parent)
	if got := telemetry.TraceParent(ctx); !strings.HasPrefix(got, parent[:36]) || got == parent {
		t.Errorf("continued %s as %s", parent, got)
	}
	fresh := telemetry.TraceParent(telemetry.ContinueTrace(context.Background(), "rubbish"))
	if _, err := telemetry.ParseTrace(fresh); err != nil {
		t.Errorf("a fresh trace: %v", err)
	}
	if got := telemetry.TraceParent(context.Background()); got != "" {
		t.Errorf("got %s of nothing", got)
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(parent)
	f.Add("cc" + parent[2:] + "-x")
	f.Fuzz(func(t *testing.T, s string) {
		trace, err := telemetry.ParseTrace(s)
		if err != nil {
			return
		}
		if back, err := telemetry.ParseTrace(trace.String()); err != nil || back != trace {
			t.Fatalf("%q is read as %s, which is read as %s, %v", s, trace, back, err)
		}
	})
}
