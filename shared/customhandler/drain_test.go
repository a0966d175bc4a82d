package customhandler

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A host that forwards a large body to its end before it looks for the answer
// finds the refusal, and no broken connection.
func TestRefusalOfALargeBodyArrives(t *testing.T) {
	url, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}), time.Second)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 32 << 20
	fmt.Fprintf(conn, "POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	if n, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("the connection broke after %d bytes: %v", n, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestDrainBeforeTheAnswer(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") },
		"both": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "x")
		},
	} {
		body := bytes.NewBufferString("unread")
		r := httptest.NewRequest(http.MethodPost, "/", body)
		drained(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) })).ServeHTTP(httptest.NewRecorder(), r)
		if body.Len() > 0 {
			t.Errorf("%s: %d bytes are left", name, body.Len())
		}
	}
}
