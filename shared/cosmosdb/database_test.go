package cosmosdb

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Ensure that a document needs no write of its own on the way out, though the SDK hides
// that it is in memory.
func TestDocumentGoesWithItsHeader(t *testing.T) {
	var writes atomic.Int32
	transport := newTransport(Options{}.withDefaults())
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return countingConn{conn, &writes}, err
	}
	s := newServer(t, transport)
	for n := range int32(3) {
		s.put(t)
		if got := writes.Load(); got != n+1 {
			t.Fatalf("%d writes after %d requests", got, n+1)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := newServer(b, newTransport(Options{}.withDefaults()))
	b.ReportAllocs()
	for b.Loop() {
		s.put(b)
	}
}

type countingConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// server takes its document, from its client.
type server struct {
	*httptest.Server
	client   inOneWrite
	document []byte
}

func newServer(t testing.TB, transport *http.Transport) *server {
	s := &server{client: inOneWrite{&http.Client{Transport: transport}}, document: bytes.Repeat([]byte("x"), 4<<10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, s.document) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// put sends the document in the way of the SDK.
func (s *server) put(t testing.TB) {
	body := struct{ io.ReadCloser }{io.NopCloser(bytes.NewReader(s.document))}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(s.document))
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d", res.StatusCode)
	}
}
