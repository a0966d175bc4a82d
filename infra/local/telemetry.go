package main

import (
	"fmt"
	"maps"
	"path/filepath"
)

// The app's settings that these commands choose.
const (
	metricsSetting = "PROMETHEUS_METRICS"
	traceSetting   = "TRACE_FILE"
)

// withTelemetry adds what the flags say of spans, and leaves to the environment
// whether there are metrics.
func (f *serveFlags) withTelemetry(set map[string]string, lookupEnv func(string) (string, bool)) (map[string]string, error) {
	all := maps.Clone(set)
	if all == nil {
		all = map[string]string{}
	}
	if value, ok := lookupEnv(metricsSetting); ok {
		all[metricsSetting] = value
	}
	if f.trace != "" {
		path, err := filepath.Abs(f.trace) // handlers run in another folder
		if err != nil {
			return nil, fmt.Errorf("-trace %s: %w", f.trace, err)
		}
		all[traceSetting] = path
	}
	return all, nil
}

// showTelemetry says where spans and metrics are.
func (f *serveFlags) showTelemetry(d *display, url string, set map[string]string) {
	if path := set[traceSetting]; path != "" {
		d.note("spans                     %s", relative(path))
	}
	if set[metricsSetting] == "true" {
		d.note("metrics                   %s/api/metrics", url)
	}
}
