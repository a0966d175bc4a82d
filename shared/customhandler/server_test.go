package customhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server on a free port and returns its URL, and a function that
// stops it and returns what Run returned.
func serve(t *testing.T, h http.Handler, grace time.Duration) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	addresses := make(chan net.Addr, 1)
	result := make(chan error, 1)
	s := &Server{Handler: h, Logger: quiet(), Grace: grace, Listening: func(a net.Addr) { addresses <- a }}
	go func() { result <- s.Run(ctx) }()
	select {
	case a := <-addresses:
		return "http://" + a.String(), func() error { cancel(); return <-result }
	case err := <-result:
		cancel()
		t.Fatal(err)
		return "", nil
	}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func newClient(t *testing.T) *http.Client {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestServerAnswersRootBeforeAnythingElse(t *testing.T) {
	url, stop := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), time.Second)
	client := newClient(t)
	if code, body := get(t, client, url+"/"); code != 200 || !json.Valid([]byte(body)) {
		t.Errorf("got %d %s", code, body)
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", url)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Ensure that on a developer's machine a rebound name doesn't reach the handler,
// while the host does.
func TestServerForThisMachineOnly(t *testing.T) {
	for name, want := range map[string]int{
		"127.0.0.1:1": 200, "127.0.0.1": 200, "localhost:1": 200, "evil.example:1": 403, "127.0.0.1.evil.example": 403, "": 403,
	} {
		for _, only := range []bool{true, false} {
			s := &Server{LocalOnly: only}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = name
			w := httptest.NewRecorder()
			s.local(s.withRoot()).ServeHTTP(w, r)
			if only && w.Code != want || !only && w.Code != 200 {
				t.Errorf("Host %q, only for this machine %t: %d", name, only, w.Code)
			}
		}
	}
}

func TestServerFinishesWhatIsUnderWay(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	url, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		fmt.Fprint(w, "done")
	}), 10*time.Second)
	client := newClient(t)
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Get(url + "/Slow")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a request under way: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if got := <-answer; got != "done" {
		t.Errorf("got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestServerCutsOffAfterGrace(t *testing.T) {
	entered := make(chan struct{})
	url, stop := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}), time.Millisecond)
	client := newClient(t)
	failed := make(chan error, 1)
	go func() {
		resp, err := client.Get(url + "/Endless")
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-entered
	if err := stop(); err == nil {
		t.Error("the cut was not reported")
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

func TestServerWithoutItsPort(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := &Server{Port: taken.Addr().(*net.TCPAddr).Port, Logger: quiet()}
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}

func TestWeb(t *testing.T) {
	tests := []struct {
		name   string
		h      http.HandlerFunc
		status int
		body   string
	}{
		{"plain", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }, 200, "x"},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("inside") }, 500,
			`{"type":"internal","title":"The service failed","status":500,"instance":"/api/x"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Web("F", "/api/x", unobserved{}, quiet(), test.h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/x", nil))
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestWebPanicInTheMiddleOfAnAnswer(t *testing.T) {
	url, stop := serve(t, Web("F", "/api/x", unobserved{}, quiet(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic("inside")
	})), time.Second)
	resp, err := newClient(t).Get(url + "/api/x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("half an answer looks whole")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
