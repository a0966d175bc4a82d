package main

import (
	"path/filepath"
	"testing"
)

func TestTelemetrySettings(t *testing.T) {
	in := map[string]string{"FLEET_DRONES": "7", "PROMETHEUS_METRICS": "true"}
	none := func(string) (string, bool) { return "", false }
	f := serveFlags{trace: "spans.jsonl"}
	got, err := f.withTelemetry(in, none)
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(got["TRACE_FILE"]) || filepath.Base(got["TRACE_FILE"]) != "spans.jsonl" || got["FLEET_DRONES"] != "7" || got["PROMETHEUS_METRICS"] != "true" {
		t.Errorf("got %v", got)
	}
	if len(in) != 2 {
		t.Errorf("the caller's settings were changed: %v", in)
	}
	f.trace = ""
	got, err = f.withTelemetry(nil, func(name string) (string, bool) { return "false", name == "PROMETHEUS_METRICS" })
	if err != nil || got["PROMETHEUS_METRICS"] != "false" {
		t.Errorf("the environment does not count: %v, %v", got, err)
	}
	if _, ok := got["TRACE_FILE"]; ok {
		t.Error("spans are written without -trace")
	}
}
