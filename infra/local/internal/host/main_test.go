package host

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// puppetVar makes the test binary a handler: it passes everything but GET / on
// to the URL in this variable, so that the test itself answers.
const puppetVar = "HOST_TEST_PUPPET"

// deafVar makes it one that never opens its port.
const deafVar = "HOST_TEST_DEAF"

// exitHeader in the test's answer makes the handler exit with that code.
const exitHeader = "X-Test-Exit"

func TestMain(m *testing.M) {
	if target := os.Getenv(puppetVar); target != "" {
		puppet(target)
	}
	// Tests that run in parallel mostly wait.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// azeventhubs v2.0.2: ConsumerClient.Close leaves the renewal of its own
	// management link's token behind.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/internal.(*Namespace).startNegotiateClaimRenewer.func3"))
}

func puppet(target string) {
	if os.Getenv(deafVar) != "" {
		select {}
	}
	to, err := url.Parse(target)
	if err != nil {
		os.Exit(3)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Header.Set("X-Test-Host", r.In.Host)
			r.Out.Header.Set("X-Test-Forwarded-For", r.In.Header.Get("X-Forwarded-For"))
		},
		ModifyResponse: func(r *http.Response) error {
			if code := r.Header.Get(exitHeader); code != "" {
				n, _ := strconv.Atoi(code)
				os.Exit(n)
			}
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	fmt.Println("hello from the handler")
	fmt.Fprintln(os.Stderr, "Warning: to stderr")
	fmt.Fprintln(os.Stderr, "listen tcp: address already in use")
	fmt.Println("azfuncjsonlog:{}")
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), mux))
	os.Exit(1)
}

const hostJSON = `{"version":"2.0","functionTimeout":"%s","customHandler":{"description":{"defaultExecutablePath":"%%EXE%%"},"enableProxyingHttpRequest":%t},
	"extensionBundle":{"id":"Microsoft.Azure.Functions.ExtensionBundle","version":"[4.*, 5.0.0)"},"extensions":%s}`

// spec is an app and its host.
type spec struct {
	functions  map[string]string // name → function.json
	timeout    string            // functionTimeout; "00:05:00" if empty
	proxy      bool
	extensions string // JSON; "{}" if empty
	settings   map[string]string
	answer     http.HandlerFunc // what the handler answers; {} if nil
	change     func(*Config)
}

// fixture is a running host.
type fixture struct {
	*Host
	url    string
	logs   *logs
	stop   context.CancelFunc
	result chan error
}

// writeApp stages the app.
func writeApp(t testing.TB, s spec) string {
	t.Helper()
	root := t.TempDir()
	if s.timeout == "" {
		s.timeout = "00:05:00"
	}
	if s.extensions == "" {
		s.extensions = "{}"
	}
	files := map[string]string{"host.json": fmt.Sprintf(hostJSON, s.timeout, s.proxy, s.extensions)}
	for name, content := range s.functions {
		files[name+"/function.json"] = content
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// configure makes the Config of a spec, with the test as the handler's brain.
func configure(t testing.TB, s spec) (Config, *logs) {
	t.Helper()
	answer := s.answer
	if answer == nil {
		answer = ok
	}
	brain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// net/http notices that the peer has gone only when the body is read.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(brain.Close)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &logs{wrote: make(chan struct{})}
	settings := map[string]string{"EXE": exe, puppetVar: brain.URL, "FUNCTIONS_WORKER_RUNTIME": "custom"}
	for k, v := range s.settings {
		settings[k] = v
	}
	c := Config{
		ScriptRoot: writeApp(t, s), Settings: settings, Listener: l, InstanceID: "one", Timings: Timings{ShutdownTimeout: 2 * time.Second},
		Logger: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if s.change != nil {
		s.change(&c)
	}
	return c, out
}

// start runs a host until the test ends, and waits until it is ready.
func start(t testing.TB, s spec) *fixture {
	t.Helper()
	c, out := configure(t, s)
	f := run(t, c)
	f.logs = out
	select {
	case <-f.Ready():
	case err := <-f.result:
		f.result <- err
		t.Fatalf("Run: %v\n%s", err, out)
	}
	return f
}

func run(t testing.TB, c Config) *fixture {
	t.Helper()
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fixture{Host: h, url: "http://" + c.Listener.Addr().String(), stop: cancel, result: make(chan error, 1)}
	go func() { f.result <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := f.end(t); err != nil && !t.Failed() {
			t.Logf("Run ended with %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return f
}

// end waits for the end of Run.
func (f *fixture) end(t testing.TB) error {
	t.Helper()
	select {
	case err := <-f.result:
		f.result <- err
		return err
	case <-time.After(2 * time.Minute):
		t.Fatal("Run did not end")
		return nil
	}
}

// do sends a request and gives status and body.
func (f *fixture) do(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(path, "/admin/") && body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, f.logs)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(out)
}

// ok is the answer that ends an invocation well.
func ok(w http.ResponseWriter, _ *http.Request) { reply(w, "{}") }

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// logs keeps what a host logs.
type logs struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{} // closed and replaced with every line
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	close(l.wrote)
	l.wrote = make(chan struct{})
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// until waits for a text in the log.
func (l *logs) until(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		l.mu.Lock()
		found, wrote := strings.Contains(l.buf.String(), text), l.wrote
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-wrote:
		case <-deadline:
			t.Fatalf("no %q in the log:\n%s", text, l)
		}
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
