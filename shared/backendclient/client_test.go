package backendclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client of one backend, named b.
func client(t *testing.T, base string, cfg Config) *Client {
	t.Helper()
	cfg.Backends = map[string]string{"b": base}
	c, err := New(cfg, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// listen serves each connection with handle, which owns it.
func listen(t *testing.T, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// readRequest reads a request up to the end of its body.
func readRequest(t *testing.T, conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.ReadAll(req.Body); err != nil {
		t.Error(err)
	}
}

func put(body string) engine.Attempt {
	return engine.Attempt{TransactionID: "t", OperationID: "op", Revision: 2,
		Call: workflow.Call{Backend: "b", Method: http.MethodPut, Path: "things/a%2Fb", Body: []byte(body)}}
}

func wantOutcome(t *testing.T, o workflow.Outcome, retry workflow.Retry, effect workflow.Effect, code string) {
	t.Helper()
	if o.Retry != retry || o.Effect != effect || o.Type != code {
		t.Errorf("got %+v, want retry %d, effect %v, type %s", o, retry, effect, code)
	}
	if retry != workflow.RetryNone && o.Message == "" {
		t.Error("no message")
	}
}

func TestDoSendsTheCall(t *testing.T) {
	var got *http.Request
	var body string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, body = r, string(data)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"done":true}`)
	})
	c := client(t, server.URL+"/api/", Config{Header: http.Header{"X-Functions-Key": {"k"}}})
	req := put(`{"a":1}`)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	o := c.Do(telemetry.Remote(t.Context(), parent), req)
	if o.Retry != workflow.RetryNone || o.Status != 201 || string(o.Result) != `{"done":true}` {
		t.Errorf("got %+v", o)
	}
	if got.Method != "PUT" || got.URL.EscapedPath() != "/api/things/a%2Fb" || body != `{"a":1}` {
		t.Errorf("%s %s %s", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"Transaction-Id": "t", "Operation-Id": "op", "Revision": "2", "Traceparent": parent,
		"Content-Type": "application/json", "Accept": "application/json", "X-Functions-Key": "k",
	} {
		if header := got.Header.Get(name); header != want {
			t.Errorf("%s: %q", name, header)
		}
	}
	o = c.Do(t.Context(), engine.Attempt{TransactionID: "t", Call: workflow.Call{Backend: "b", Method: "DELETE", Path: "x"}, Undo: true})
	if o.Retry != workflow.RetryNone || got.Method != "DELETE" || body != "" || got.Header.Get("Content-Type") != "" || got.Header.Get("Revision") != "" {
		t.Errorf("%+v: %s %q %v", o, got.Method, body, got.Header)
	}
}

func TestNotSentAtAll(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := l.Addr().String()
	l.Close()
	silent := listen(t, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) })
	cut := listen(t, func(conn *net.TCPConn) {
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_ = conn.SetLinger(0)
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		base string
		req  engine.Attempt
		code string
	}{
		{"refused", t.Context(), "http://" + refused, put("{}"), "not-sent"},
		{"TLS does not come about", t.Context(), "https://" + silent, put("{}"), "timeout"},
		{"TLS is cut", t.Context(), "https://" + cut, put("{}"), "not-sent"},
		{"cancelled before", gone, "http://" + silent, put("{}"), "cancelled"},
		{"no address", t.Context(), "http://" + silent, engine.Attempt{Call: workflow.Call{Backend: "other"}}, "not-sent"},
		{"bad path", t.Context(), "http://" + silent, engine.Attempt{Call: workflow.Call{Backend: "b", Path: "%zz"}}, "not-sent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.base, Config{CallTimeout: 300 * time.Millisecond})
			wantOutcome(t, c.Do(tt.ctx, tt.req), workflow.RetryLater, workflow.EffectNo, tt.code)
		})
	}
}

func TestTheEffectIsUnknown(t *testing.T) {
	say := func(text string) func(*net.TCPConn) {
		return func(conn *net.TCPConn) {
			readRequest(t, conn)
			_, _ = io.WriteString(conn, text)
		}
	}
	tests := []struct {
		name   string
		handle func(*net.TCPConn)
		code   string
	}{
		{"no answer", func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) }, "timeout"},
		{"closed without an answer", say(""), "broken"},
		{"reset", func(conn *net.TCPConn) {
			readRequest(t, conn)
			_ = conn.SetLinger(0)
		}, "broken"},
		{"reset at once", func(conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, 1))
			_ = conn.SetLinger(0)
		}, "broken"},
		{"no HTTP", say("hello\r\n\r\n"), "broken"},
		{"half a header", say("HTTP/1.1 200 OK\r\nContent-Le"), "broken"},
		{"half a body", say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"a\":"), "unreadable"},
		{"a chunk breaks off", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\""), "unreadable"},
		{"body takes too long", func(conn *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")(conn)
			_, _ = io.Copy(io.Discard, conn)
		}, "timeout"},
		{"no JSON", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"), "unreadable"},
		{"too large", say("HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n\"" + strings.Repeat("x", 598) + "\""), "unreadable"},
		{"408", say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"), "status"},
		{"503", say("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), "status"},
		{"redirect", say("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), "status"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, "http://"+listen(t, tt.handle), Config{CallTimeout: 300 * time.Millisecond, MaxAnswer: 512})
			wantOutcome(t, c.Do(t.Context(), put("{}")), workflow.RetryLater, workflow.EffectMaybe, tt.code)
			c.Close()
		})
	}
}

// Ensure that a 4xx whose document broke off rejects nothing: the repeat gets it
// again, whole.
func TestA4xxWithoutItsBodyIsNoWord(t *testing.T) {
	address := listen(t, func(conn *net.TCPConn) {
		readRequest(t, conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: 20\r\n\r\n{")
	})
	c := client(t, "http://"+address, Config{})
	wantOutcome(t, c.Do(t.Context(), put("{}")), workflow.RetryLater, workflow.EffectMaybe, "status")
}

func TestTheCallerGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := listen(t, func(conn *net.TCPConn) {
		readRequest(t, conn)
		cancel()
		_, _ = io.Copy(io.Discard, conn)
	})
	c := client(t, "http://"+address, Config{CallTimeout: time.Minute})
	wantOutcome(t, c.Do(ctx, put("{}")), workflow.RetryLater, workflow.EffectMaybe, "cancelled")
}

func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	n := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		switch n % 4 {
		case 0:
			fmt.Fprint(w, `{"a":1}`)
		case 1:
			w.WriteHeader(http.StatusNoContent)
		case 2:
			http.Error(w, strings.Repeat("x", 300), http.StatusConflict)
		case 3: // over the limit, but not by much
			fmt.Fprint(w, strings.Repeat("x", 300))
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := client(t, server.URL, Config{MaxAnswer: 256})
	for range 20 {
		if o := c.Do(t.Context(), put("{}")); o.Status == 0 {
			t.Errorf("got %+v", o)
		}
	}
	if got := opened.Load(); got != 1 {
		t.Errorf("%d connections for calls one after the other", got)
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	for _, cfg := range []Config{
		{Backends: map[string]string{"b": "127.0.0.1:7071"}},
		{Backends: map[string]string{"b": ""}},
		{Backends: map[string]string{"b": "ftp://x/"}},
		{Backends: map[string]string{"b": "http://x/?q=1"}},
		{Backends: map[string]string{"b": "http://%zz"}},
		{CallTimeout: -1}, {MaxAnswer: -1}, {Concurrency: -1},
	} {
		if _, err := New(cfg, time.Now); err == nil {
			t.Errorf("accepted: %+v", cfg)
		}
	}
}

// Ensure an attempt's own time-out bounds it, and not the client's.
func TestTimeoutOfAnAttempt(t *testing.T) {
	served := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // only then the server sees that the client is gone
			t.Error(err)
		}
		<-r.Context().Done()
	})
	c := client(t, served.URL, Config{CallTimeout: time.Minute})
	a := put("{}")
	a.Timeout = 20 * time.Millisecond
	wantOutcome(t, c.Do(t.Context(), a), workflow.RetryLater, workflow.EffectMaybe, "timeout")
}
