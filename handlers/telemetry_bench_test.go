package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// kinds are what telemetry costs is measured with: none at all; what there is
// without any setting; the metrics of serve; and metrics with 1 % of the traces, or
// with all of them, by OTLP to a collector on this machine.
var kinds = []string{"none", "no exporter", "metrics", "OTLP, 1 %", "OTLP"}

// signalsFor opens one of the kinds.
func signalsFor(b *testing.B, kind string) observe.Signals {
	b.Helper()
	c := observe.Config{Service: "test", Prefix: "test", TraceRatio: 1, Logger: slog.New(slog.DiscardHandler)}
	switch kind {
	case "none":
		return observe.Signals{}
	case "metrics":
		c.Prometheus = true
	case "OTLP, 1 %", "OTLP":
		if kind != "OTLP" {
			c.TraceRatio = 0.01
		}
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		b.Cleanup(collector.Close)
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	}
	opened, err := observe.Open(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := opened.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	s, err := opened.Signals()
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkAcceptWithTelemetry accepts requests, many at a time, on a hub that
// acknowledges at once: the ratio to "none" is what telemetry costs Ingest.
func BenchmarkAcceptWithTelemetry(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			w := newWorldWith(b, signalsFor(b, kind), "LOG_LEVEL", "warn")
			b.SetParallelism(32)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r := httptest.NewRequest(http.MethodPost, "/api/deliveryrequests", strings.NewReader(deliveryBody))
					r.Header.Set("Content-Type", "application/json")
					answer := httptest.NewRecorder()
					w.app.ServeHTTP(answer, r)
					if answer.Code != http.StatusAccepted {
						b.Errorf("answered %d", answer.Code)
						return
					}
				}
			})
			b.StopTimer()
			w.producer.take()
		})
	}
}

// BenchmarkEventWithTelemetry handles messages one at a time that ask for nothing
// new: each is the last that runs, so that each is exported on its own, which is
// the most that telemetry can cost.
func BenchmarkEventWithTelemetry(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			w := newWorldWith(b, signalsFor(b, kind), "LOG_LEVEL", "warn")
			w.account("owner-1", "active")
			id := w.post(deliveryBody).TransactionID
			body, err := engine.Envelope{TransactionID: id, Wake: 1, AcceptedAt: time.Now()}.Encode()
			if err != nil {
				b.Fatal(err)
			}
			event, err := json.Marshal(map[string]any{
				"Data": map[string]any{"message": base64.StdEncoding.EncodeToString(body)},
				"Metadata": map[string]any{"MessageId": `"m"`, "SequenceNumber": "7", "DeliveryCount": "1", "EnqueuedTimeUtc": "2026-05-04T09:00:00",
					"ApplicationProperties": map[string]string{"traceparent": clientTrace}},
			})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/Schedule", strings.NewReader(string(event)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-Azure-Functions-InvocationId", "i")
				answer := httptest.NewRecorder()
				w.app.ServeHTTP(answer, r)
				if answer.Code != http.StatusOK {
					b.Fatal(fmt.Sprint("answered ", answer.Code))
				}
			}
		})
	}
}
