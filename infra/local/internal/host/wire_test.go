package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// wired is a wire to a server that answers by path, and the server's addresses of those
// who asked.
type wired struct {
	*wire
	url   string
	mu    sync.Mutex
	asked []string
}

func startWired(t *testing.T) *wired {
	t.Helper()
	w := &wired{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.RemoteAddr)
		w.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/hints":
			rw.Header().Set("Link", "<a>")
			rw.WriteHeader(http.StatusEarlyHints)
		case "/nothing":
			rw.WriteHeader(http.StatusNoContent)
			return
		case "/closes":
			rw.Header().Set("Connection", "close")
		case "/long":
			_, _ = io.WriteString(rw, strings.Repeat("x", 1<<20))
			return
		case "/hangs":
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(rw, r.Method+" "+string(body))
	}))
	t.Cleanup(server.Close)
	w.wire, w.url = newWire(strings.TrimPrefix(server.URL, "http://")), server.URL
	t.Cleanup(w.close)
	return w
}

// ask makes one exchange and returns what was answered.
func (w *wired) ask(t *testing.T, generation int, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.exchange(r, generation)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// connections counts those on which requests came.
func (w *wired) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, at := range w.asked {
		seen[at] = true
	}
	return len(seen)
}

// Ensure that requests of any kind follow each other on one connection, as long as it
// leads to the same process, and nothing of an answer is left in it.
func TestWireKeepsItsConnection(t *testing.T) {
	w := startWired(t)
	for range 2 {
		for _, c := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", "/", "a body", 200, "POST a body"}, {"GET", "/", "", 200, "GET "}, {"HEAD", "/", "", 200, ""},
			{"DELETE", "/nothing", "", 204, ""}, {"GET", "/hints", "", 200, "GET "}, {"GET", "/long", "", 200, strings.Repeat("x", 1<<20)},
		} {
			if status, got := w.ask(t, 1, c.method, c.path, c.body); status != c.status || got != c.want {
				t.Errorf("%s %s: %d %.40q", c.method, c.path, status, got)
			}
		}
	}
	if n := w.connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	w.ask(t, 2, "GET", "/", "") // of another process
	w.ask(t, 2, "GET", "/closes", "")
	w.ask(t, 2, "GET", "/", "")
	if n := w.connections(); n != 3 {
		t.Errorf("%d connections, want one for each process, and one after the server has closed", n)
	}
}

// Ensure that the hints before an answer are told.
func TestWireTellsHints(t *testing.T) {
	w := startWired(t)
	told := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints && header.Get("Link") == "<a>" {
			told++
		}
		return nil
	}})
	r, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/hints", nil)
	resp, err := w.exchange(r, 1)
	if err != nil || resp.StatusCode != 200 || told != 1 {
		t.Fatalf("%v, told %d times", err, told)
	}
	resp.Body.Close()
}

// Ensure that a caller who leaves is free at once, before and during the answer, and that
// a connection with something left in it is used by nobody else.
func TestWireEndsWithItsCaller(t *testing.T) {
	w := startWired(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	r, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/hangs", nil)
	if _, err := w.exchange(r, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r, _ = http.NewRequestWithContext(t.Context(), "GET", w.url+"/long", nil)
	resp, err := w.exchange(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // unread
	if _, got := w.ask(t, 1, "GET", "/", ""); got != "GET " || w.connections() != 3 {
		t.Errorf("%q over %d connections", got, w.connections())
	}
}

// Ensure that connections which nobody uses are closed, and those of a closed wire.
func TestWirePrunes(t *testing.T) {
	w := startWired(t)
	w.ask(t, 1, "GET", "/", "")
	w.prune()
	if len(w.idle) != 1 || w.pruner == nil {
		t.Fatalf("%d idle after a fresh use", len(w.idle))
	}
	w.idle[0].since = time.Now().Add(-wireIdle)
	w.prune()
	if len(w.idle) != 0 || w.pruner != nil {
		t.Errorf("%d idle after their time", len(w.idle))
	}
	w.ask(t, 1, "GET", "/", "")
	w.close()
	w.ask(t, 1, "GET", "/", "")
	if len(w.idle) != 0 || w.connections() != 3 {
		t.Errorf("%d idle, %d connections", len(w.idle), w.connections())
	}
}

// Ensure that nobody there is told from somebody who went.
func TestWireToNobody(t *testing.T) {
	w := newWire("127.0.0.1:1")
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:1/", nil)
	_, err := w.exchange(r, 1)
	var op *net.OpError
	if !errors.As(err, &op) || !unreached(err) {
		t.Errorf("%v", err)
	}
}
