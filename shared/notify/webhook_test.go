package notify_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func key(t *testing.T, seed string) notify.SigningKey {
	t.Helper()
	k, err := notify.ParseSigningKey("whsk_" + base64.StdEncoding.EncodeToString([]byte(seed)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	current  = "thisisthecurrentkeyof32bytes_ab_"
	previous = "thisisthepreviouskeyof32bytes_a_"
)

// open returns a receiver that calls handler. change may be nil.
func open(t *testing.T, handler http.Handler, change func(*notify.WebhookConfig)) *notify.Webhook {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c := notify.WebhookConfig{
		URL: server.URL + "/hook", Keys: []notify.SigningKey{key(t, current), key(t, previous)}, Now: time.Now,
		Limits: notify.Limits{CallTimeout: 5 * time.Second, Patience: 5 * time.Second, Concurrency: 4,
			Breaker: failure.Breaker{FailureRatio: 0.5, MinCalls: 100, Window: time.Minute, Delay: time.Minute, Probes: 3}, Log: slog.New(slog.DiscardHandler)},
	}
	if change != nil {
		change(&c)
	}
	r, err := notify.NewWebhook(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func answering(status int, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	})
}

var sample = notify.CloudEvent{ID: "t.1-x/3", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	Body: []byte(`{"specversion":"1.0","id":"t.1-x/3","type":"x.v1","data":{"state":"Completed","at":"2026-03-01T12:00:00.000Z"}}`)}

// Ensure the receiver of the documentation takes what is sent, with either of the
// two keys alone, and not with a third.
func TestReceiverOfTheDocumentation(t *testing.T) {
	for seed, wanted := range map[string]bool{current: true, previous: true, "somebodyelseskeythatis32byteslon": false} {
		var got []Event
		take := func(e Event) error { got = append(got, e); return nil }
		err := open(t, receive(take, key(t, seed).Public()), nil).Post(t.Context(), sample)
		if taken := err == nil && len(got) == 1; taken != wanted {
			t.Errorf("key %s: %v, taken %v", key(t, seed).Public(), err, got)
		}
		if wanted && (got[0].ID != sample.ID || got[0].Data.State != "Completed") {
			t.Errorf("event %+v", got[0])
		}
	}
}

// Ensure the documentation's check refuses what was changed on the way, or kept
// for later.
func TestVerifyRefuses(t *testing.T) {
	header := http.Header{}
	now := time.Unix(1_700_000_000, 0)
	if err := notify.Sign(header, "m", now, sample.Body, key(t, current)); err != nil {
		t.Fatal(err)
	}
	public := key(t, current).Public()
	if err := verify(header, sample.Body, now.Add(4*time.Minute), public); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for name, test := range map[string]struct {
		change func(http.Header)
		body   string
		at     time.Time
	}{
		"another body":   {func(http.Header) {}, `{}`, now},
		"another id":     {func(h http.Header) { h.Set("webhook-id", "n") }, string(sample.Body), now},
		"another time":   {func(h http.Header) { h.Set("webhook-timestamp", "1700000001") }, string(sample.Body), now},
		"too late":       {func(http.Header) {}, string(sample.Body), now.Add(6 * time.Minute)},
		"too early":      {func(http.Header) {}, string(sample.Body), now.Add(-6 * time.Minute)},
		"no signature":   {func(h http.Header) { h.Del("webhook-signature") }, string(sample.Body), now},
		"another scheme": {func(h http.Header) { h.Set("webhook-signature", "v1"+h.Get("webhook-signature")[3:]) }, string(sample.Body), now},
	} {
		changed := header.Clone()
		test.change(changed)
		if err := verify(changed, []byte(test.body), test.at, public); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	r := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
	}), nil)
	if err := r.Post(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/hook" || string(body) != string(sample.Body) {
		t.Errorf("%s %s %s", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/cloudevents+json; charset=utf-8", "Traceparent": sample.TraceParent, "Webhook-Id": "t~1-x/3",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %s, want %s", name, value, want)
		}
	}
	if n := len(strings.Fields(got.Header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures, want one for each key", n)
	}
}

// Ensure any 2xx means taken, and nothing else does; a redirect is not followed.
func TestAnswers(t *testing.T) {
	for status, taken := range map[int]bool{
		200: true, 201: true, 202: true, 204: true, 299: true,
		301: false, 302: false, 307: false, 400: false, 401: false, 404: false, 410: false, 415: false, 429: false, 500: false, 503: false,
	} {
		var others atomic.Int32
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others.Add(1) }))
		err := open(t, answering(status, "Location", elsewhere.URL), nil).Post(t.Context(), sample)
		elsewhere.Close()
		if (err == nil) != taken || err != nil && (failure.KindOf(err) != failure.Transient || !strings.Contains(err.Error(), sample.ID)) {
			t.Errorf("%d: %v", status, err)
		}
		if others.Load() != 0 {
			t.Errorf("%d: the redirect was followed", status)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for header, want := range map[string]time.Duration{
		"":      0,
		"120":   2 * time.Minute,
		"-5":    0,
		"1.5":   0,
		"later": 0,
		now.Add(30 * time.Second).UTC().Format(http.TimeFormat): 30 * time.Second,
		now.Add(-time.Hour).UTC().Format(http.TimeFormat):       0,
		"4000000000": time.Hour,
	} {
		r := open(t, answering(429, "Retry-After", header), func(c *notify.WebhookConfig) { c.Now = func() time.Time { return now } })
		if got := failure.RetryAfter(r.Post(t.Context(), sample)); got != want {
			t.Errorf("Retry-After %q means %v, want %v", header, got, want)
		}
	}
}

// Ensure a receiver that does not answer costs no more than a call's time, and
// one that only begins to answer has answered.
func TestReceiverHangs(t *testing.T) {
	end := make(chan struct{})
	hang := open(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }),
		func(c *notify.WebhookConfig) { c.CallTimeout = 50 * time.Millisecond })
	if err := hang.Post(t.Context(), sample); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	begin := open(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-end
	}), func(c *notify.WebhookConfig) { c.CallTimeout = 200 * time.Millisecond })
	if err := begin.Post(t.Context(), sample); err != nil {
		t.Errorf("an answer without an end: %v", err)
	}
	close(end)
}

func TestNobodyListens(t *testing.T) {
	r := open(t, answering(200), func(c *notify.WebhookConfig) { c.URL = "http://127.0.0.1:1/hook" })
	if err := r.Post(t.Context(), sample); failure.KindOf(err) != failure.Transient || err == nil {
		t.Errorf("error %v", err)
	}
}

func TestConfig(t *testing.T) {
	good := notify.WebhookConfig{
		URL: "https://example.com/hook", Keys: []notify.SigningKey{key(t, current)}, Now: time.Now,
		Limits: notify.Limits{CallTimeout: time.Second, Patience: time.Second, Concurrency: 1,
			Breaker: failure.Breaker{FailureRatio: 1, MinCalls: 1, Window: time.Second, Delay: time.Second, Probes: 1}, Log: slog.New(slog.DiscardHandler)},
	}
	if _, err := notify.NewWebhook(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*notify.WebhookConfig){
		"no URL":         func(c *notify.WebhookConfig) { c.URL = "" },
		"a path":         func(c *notify.WebhookConfig) { c.URL = "/hook" },
		"another scheme": func(c *notify.WebhookConfig) { c.URL = "ftp://example.com" },
		"no key":         func(c *notify.WebhookConfig) { c.Keys = nil },
		"no time":        func(c *notify.WebhookConfig) { c.CallTimeout = 0 },
		"no patience":    func(c *notify.WebhookConfig) { c.Patience = 0 },
		"no place":       func(c *notify.WebhookConfig) { c.Concurrency = 0 },
		"no clock":       func(c *notify.WebhookConfig) { c.Now = nil },
	} {
		c := good
		change(&c)
		if _, err := notify.NewWebhook(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// blocks returns the code blocks of docs/notifications.md in that language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, part := range strings.Split(string(text), "\n```") {
		if code, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			found = append(found, code+"\n")
		}
	}
	return found
}

// Ensure the code in docs/notifications.md is the code that is tested here.
func TestDocumentationShowsThisReceiver(t *testing.T) {
	code, err := os.ReadFile("receiver_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, want, ok := strings.Cut(string(code), "\n)\n\n// verify")
	if !ok {
		t.Fatal("the file does not have the form that this test expects")
	}
	want = "// verify" + want
	for _, block := range blocks(t, "go") {
		if block == want {
			return
		}
	}
	t.Errorf("docs/notifications.md does not hold the text of receiver_test.go:\n%s", want)
}

// Ensure the program in docs/notifications.md makes keys that can be used.
func TestDocumentationMakesAKey(t *testing.T) {
	var program string
	for _, block := range blocks(t, "go") {
		if strings.HasPrefix(block, "package main") {
			program = block
		}
	}
	if program == "" {
		t.Fatal("docs/notifications.md holds no program")
	}
	file := filepath.Join(t.TempDir(), "newkey.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 4 || lines[0] != "secret" || lines[2] != "public" {
		t.Fatalf("the program prints %q", out)
	}
	k, err := notify.ParseSigningKey(lines[1])
	if err != nil || k.Public() != lines[3] {
		t.Errorf("the program's keys: %v, %s", err, lines[3])
	}
}
