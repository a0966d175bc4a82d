package system_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/engine"
)

// Ensure that a web page cancels nothing: not by the host's /admin, which takes an
// envelope with any caller in it, nor by the API; not from its own origin, nor by
// a name that it has bound to this machine. The same cancel by a program works,
// so that it is the page that is refused.
func TestPagesCancelNothing(t *testing.T) {
	r := start(t, short)
	r.accept("watched")
	r.complete("watched")
	envelope, err := engine.Envelope{
		TransactionID: "watched", OperationID: "o-page", Operation: "cancel", AcceptedAt: time.Now(), Caller: "anybody",
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"input": string(envelope)})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body, contentType string, change func(*http.Request)) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.url(path), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Header.Set("Content-Type", contentType)
		}
		change(req)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	pages := map[string]func(*http.Request){
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"a sandbox":      func(r *http.Request) { r.Header.Set("Origin", "null") },
		"a rebound name": func(r *http.Request) {
			r.Host = "evil.example:7071"
			r.Header.Set("Origin", "http://evil.example:7071")
		},
	}
	const admin, api = "/admin/functions/Schedule", "/api/deliveryrequests/watched"
	for name, page := range pages {
		for _, contentType := range []string{"text/plain", "application/json"} {
			if status := send(http.MethodPost, admin, string(input), contentType, page); status != http.StatusForbidden {
				t.Errorf("%s runs Schedule with %s: %d", name, contentType, status)
			}
		}
		if status := send(http.MethodDelete, api, "", "", page); status != http.StatusForbidden {
			t.Errorf("%s cancels: %d", name, status)
		}
		if status := send(http.MethodGet, api, "", "", page); status != http.StatusForbidden {
			t.Errorf("%s reads: %d", name, status)
		}
	}
	program := func(*http.Request) {}
	if status := send(http.MethodPost, admin, string(input), "text/plain", program); status != http.StatusUnsupportedMediaType {
		t.Errorf("text runs Schedule: %d", status)
	}
	var view struct {
		State      string
		Operations []any
	}
	if status := getJSON(t, r.url(api), &view); status != http.StatusOK || view.State != "Completed" || len(view.Operations) != 1 {
		t.Errorf("it is %+v, %d", view, status)
	}
	if status := send(http.MethodPost, admin, string(input), "application/json", program); status != http.StatusAccepted {
		t.Fatalf("a program runs Schedule: %d", status)
	}
	await(t, "the program's cancel to arrive", func() bool {
		return getJSON(t, r.url(api), &view) == http.StatusOK && view.State == "Cancelled"
	})
}

// Ensure that what is open to the network works: for programs that call it by an
// address, and for the app itself, which finds its backends on this machine.
func TestOpenToTheNetwork(t *testing.T) {
	all := system.Addresses{HTTP: "0.0.0.0:0", AMQP: "0.0.0.0:0", Cosmos: "0.0.0.0:0"}
	config := system.Config{
		App: app, Addresses: all, Settings: short, Notice: func(string) {},
		Logger: slog.New(slog.DiscardHandler), HandlerLog: func(string, bool) {},
	}
	if _, err := system.Start(t.Context(), config); err == nil || !strings.Contains(err.Error(), "-open-to-network") {
		t.Fatalf("not allowed, and started: %v", err)
	}
	config.Addresses.OpenToNetwork = true
	s, err := system.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	for _, at := range []string{s.Endpoints().HTTP, s.Endpoints().AMQP, s.Endpoints().Cosmos} {
		if !strings.HasPrefix(at, "127.0.0.1:") {
			t.Errorf("this machine is told to call %s", at)
		}
	}
	if err := workload.Prepare(t.Context(), workload.ClientOptions{URL: s.Endpoints().BackendsURL()}, chosentrial.Trial().Before); err != nil {
		t.Fatal(err)
	}
	r := &run{System: s, t: t, client: http.DefaultClient}
	r.accept("open")
	r.complete("open")
}
