package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fabrikam/drone-delivery/shared/auth"
)

// endpoint reports whether the environment says where a signal goes. The
// exporters read the same variables, and would otherwise take localhost.
func endpoint(signal string) bool {
	if os.Getenv("OTEL_"+signal+"_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// The repeats of an export that was answered with "later". They end soon: what
// comes meanwhile has to wait.
const (
	firstRepeat   = 500 * time.Millisecond
	longestRepeat = 2 * time.Second
	lastRepeat    = 5 * time.Second
)

func otlpSpans(c Config) (sdktrace.SpanExporter, error) {
	options := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: firstRepeat, MaxInterval: longestRepeat, MaxElapsedTime: lastRepeat,
	})}
	if c.Credential != nil {
		options = append(options, otlptracehttp.WithHTTPClient(authorized(c)))
	}
	e, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("open OTLP: %w", err)
	}
	return e, nil
}

func otlpMetrics(c Config) (sdkmetric.Exporter, error) {
	options := []otlpmetrichttp.Option{otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{
		Enabled: true, InitialInterval: firstRepeat, MaxInterval: longestRepeat, MaxElapsedTime: lastRepeat,
	})}
	if c.Credential != nil {
		options = append(options, otlpmetrichttp.WithHTTPClient(authorized(c)))
		if os.Getenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE") == "" {
			// Azure Monitor wants differences. Microsoft's worker for Go turns
			// its metrics into them before it sends them there, and its exporters
			// do the same.
			options = append(options, otlpmetrichttp.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))
		}
	}
	e, err := otlpmetrichttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("open OTLP: %w", err)
	}
	return e, nil
}

// authorized is a client whose requests carry a token, as the data collection
// endpoints of Azure Monitor want it (Microsoft Learn, "Ingest OTLP data into
// Azure Monitor by using OTel Collector").
func authorized(c Config) *http.Client {
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{Transport: &bearer{c.Credential, c.Scope, next}, Timeout: exportTime}
}

// bearer adds a token to each request. The credential keeps its tokens.
type bearer struct {
	credential azcore.TokenCredential
	scope      string
	next       http.RoundTripper
}

var errPlain = errors.New("a token is sent only over TLS or to this machine")

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close() // as the interface asks for; it is in memory
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

func (b *bearer) token(r *http.Request) (string, error) {
	if !auth.SafeAddress(r.URL) {
		return "", errPlain
	}
	t, err := b.credential.GetToken(r.Context(), policy.TokenRequestOptions{Scopes: []string{b.scope}})
	if err != nil {
		return "", fmt.Errorf("get a token for telemetry: %w", err)
	}
	return t.Token, nil
}
