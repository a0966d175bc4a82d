package observe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// fileSpans exports spans into a file, in the format of OpenTelemetry's file
// exporter: one line of OTLP in JSON per batch
// (https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/), which the
// Collector reads with its otlpjsonfile receiver.
//
// It is the exporter for HTTP, whose requests end in the file: the encoding of
// OTLP in JSON is its own.
func fileSpans(path string) (sdktrace.SpanExporter, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the trace file: %w", err)
	}
	lines := &lines{file: file}
	e, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL("https://trace.file/v1/traces"),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON), otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), otlptracehttp.WithHTTPClient(&http.Client{Transport: lines}))
	if err != nil {
		return nil, fmt.Errorf("open the trace file: %w", err)
	}
	return &fileExporter{e, lines}, nil
}

// fileExporter closes the file behind its exporter.
type fileExporter struct {
	sdktrace.SpanExporter
	lines *lines
}

func (e *fileExporter) Shutdown(ctx context.Context) error {
	err := e.SpanExporter.Shutdown(ctx)
	if cerr := e.lines.close(); cerr != nil {
		err = fmt.Errorf("close the trace file: %w", cerr)
	}
	return err
}

// lines appends the body of each request to a file. Each is one write at the
// file's end, so that several processes may have the file.
type lines struct {
	mu   sync.Mutex
	file *os.File
}

func (l *lines) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(bytes.TrimSpace(body), '\n')); err != nil {
		return nil, fmt.Errorf("write the trace file: %w", err)
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r,
	}, nil
}

func (l *lines) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
