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
	log.With("a", 1).InfoContext(telemetry.Remote(ctx, parent), "done", telemetry.KeyStep, "drone")
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
