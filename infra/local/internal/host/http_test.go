package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	httpFn  = `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"%s","methods":[%s],"route":"%s"},{"type":"http","direction":"out","name":"res"}]}`
	timerFn = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 0 0 1 1 *"}]}`
)

func httpFunctionJSON(level, methods, route string) string {
	return fmt.Sprintf(httpFn, level, methods, route)
}

// echo answers with what the handler saw.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Seen", r.Header.Get("X-Azure-Functions-InvocationId"))
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(w, "%s %s host=%s xff=%s same=%t body=%s", r.Method, r.RequestURI, r.Header.Get("X-Test-Host"), r.Header.Get("X-Test-Forwarded-For"),
		r.Header.Get("X-Azure-Functions-InvocationId") == r.Header.Get("X-Ms-Invocation-Id"), body)
}

func TestProxyPassesRequestsOn(t *testing.T) {
	t.Parallel()
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{
		"Get":  httpFunctionJSON("anonymous", `"get"`, "orders/{id}"),
		"Put":  httpFunctionJSON("anonymous", `"put","delete"`, "orders/{id}"),
		"List": httpFunctionJSON("anonymous", `"get"`, "orders"),
	}})
	host := strings.TrimPrefix(f.Host.url, "http://")
	status, body := f.do(t, "GET", "/api/nothing/../orders/a%2Fb?x=1;y=2&z", "", "X-Forwarded-For", "1.2.3.4")
	if want := "GET /api/orders/a%252Fb?x=1;y=2&z host=" + host + " xff=127.0.0.1 same=true body="; status != http.StatusTeapot || body != want {
		t.Errorf("%d %s, want %s", status, body, want)
	}
	if _, body = f.do(t, "PUT", "/API/Orders/7", "payload"); !strings.HasPrefix(body, "PUT /API/Orders/7 ") || !strings.HasSuffix(body, "body=payload") {
		t.Error(body)
	}
	for _, tc := range []struct{ method, path string }{
		{"POST", "/api/orders/7"}, {"HEAD", "/api/orders/7"}, {"GET", "/api/nothing"}, {"GET", "/orders/7"}, {"GET", "/apiorders/7"}, {"GET", "/admin/nothing"},
	} {
		if status, _ := f.do(t, tc.method, tc.path, ""); status != http.StatusNotFound {
			t.Errorf("%s %s: %d, want 404", tc.method, tc.path, status)
		}
	}
	if status, _ := f.do(t, "GET", "/api/orders/a%00", ""); status != http.StatusBadRequest {
		t.Errorf("a zero byte in the path: %d, want 400", status)
	}
	if status, _ := f.do(t, "GET", "/api/orders/7", "", "X-Name", "Zürich"); status != http.StatusBadRequest {
		t.Errorf("a header that is not ASCII: %d, want 400", status)
	}
	if status, _ := f.do(t, "GET", "/api/orders/7", "", "X-Long", strings.Repeat("x", 40<<10)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 40 KiB: %d, want 431", status)
	}
	if status, _ := f.do(t, "GET", "/", ""); status != http.StatusOK {
		t.Errorf("GET /: %d", status)
	}
	want := []FunctionInfo{
		{Name: "Get", Trigger: "httpTrigger", Path: "/api/orders/{id}", Methods: []string{"GET"}},
		{Name: "List", Trigger: "httpTrigger", Path: "/api/orders", Methods: []string{"GET"}},
		{Name: "Put", Trigger: "httpTrigger", Path: "/api/orders/{id}", Methods: []string{"PUT", "DELETE"}},
	}
	if diff := cmp.Diff(want, f.Functions()); diff != "" {
		t.Error(diff)
	}
}

func TestProxyStreams(t *testing.T) {
	next := make(chan struct{})
	f := start(t, spec{proxy: true, functions: map[string]string{"S": httpFunctionJSON("anonymous", `"get"`, "stream")},
		answer: func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				fmt.Fprintln(w, "line", i)
				w.(http.Flusher).Flush()
				<-next
			}
		}})
	resp, err := http.Get(f.url + "/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprint("line ", i) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
		next <- struct{}{}
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{"P": httpFunctionJSON("anonymous", `"post"`, "p")},
		settings: map[string]string{"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "10"}})
	if status, body := f.do(t, "POST", "/api/p", "12345678901"); status != http.StatusInternalServerError || body != "" {
		t.Errorf("with a length: %d %s", status, body)
	}
	resp, err := http.Post(f.url+"/api/p", "", io.MultiReader(strings.NewReader("1234567890"), strings.NewReader("1")))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("chunked: %d", resp.StatusCode)
	}
	if status, _ := f.do(t, "POST", "/api/p", "1234567890"); status != http.StatusTeapot {
		t.Errorf("at the limit: %d", status)
	}
}

// What the client did wrong is never reported as a success. The real host takes
// it for a failure of the function.
func TestBrokenRequestBody(t *testing.T) {
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{"P": httpFunctionJSON("anonymous", `"post"`, "p")}})
	for name, sent := range map[string]string{
		"chunks":     "Transfer-Encoding: chunked\r\n\r\nno size\r\n",
		"cut":        "Content-Length: 100\r\n\r\n1234567890",
		"cut chunks": "Transfer-Encoding: chunked\r\n\r\n64\r\n1234567890",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST /api/p HTTP/1.1\r\nHost: localhost\r\n"+sent); err != nil {
				t.Fatal(err)
			}
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return // no answer, since the client looked gone
			}
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusInternalServerError {
				t.Errorf("got %d", resp.StatusCode)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{
		"Open": httpFunctionJSON("anonymous", `"get"`, "open"), "Fn": httpFunctionJSON("function", `"get"`, "fn"), "Adm": httpFunctionJSON("admin", `"get"`, "adm"),
	}, change: func(c *Config) { c.EnableAuth, c.HostKey, c.MasterKey = true, "hk", "mk" }})
	for _, tc := range []struct {
		path, key string
		want      int
	}{
		{"/api/open", "", 418}, {"/api/fn", "", 401}, {"/api/fn", "x", 401}, {"/api/fn", "hk", 418}, {"/api/fn?code=hk", "", 418}, {"/api/fn", "mk", 418},
		{"/api/adm", "hk", 401}, {"/api/adm", "mk", 418}, {"/admin/host/status", "", 401}, {"/admin/host/status", "mk", 200},
	} {
		if status, _ := f.do(t, "GET", tc.path, "", "x-functions-key", tc.key); status != tc.want {
			t.Errorf("%s with key %q: %d, want %d", tc.path, tc.key, status, tc.want)
		}
	}
}

func TestThrottle(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	f := start(t, spec{proxy: true, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"get"`, "t")},
		extensions: `{"http":{"maxConcurrentRequests":1,"maxOutstandingRequests":2}}`,
		answer: func(w http.ResponseWriter, _ *http.Request) {
			inside <- struct{}{}
			<-leave
		}})
	results := make(chan int, 3)
	get := func() {
		resp, err := http.Get(f.url + "/api/t")
		if err != nil {
			results <- 0
			return
		}
		resp.Body.Close()
		results <- resp.StatusCode
	}
	go get()
	receive(t, inside)
	go get()
	go get()
	// One of the two waits in line, the other is refused; nobody else runs.
	if got := receive(t, results); got != http.StatusTooManyRequests {
		t.Errorf("the third request: %d", got)
	}
	leave <- struct{}{}
	receive(t, inside)
	leave <- struct{}{}
	for range 2 {
		if got := receive(t, results); got != http.StatusOK {
			t.Errorf("an admitted request: %d", got)
		}
	}
}

func TestFrontEndTimeout(t *testing.T) {
	f := start(t, spec{proxy: true, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"get"`, "t")},
		answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		change: func(c *Config) { c.FrontEndTimeout = 50 * time.Millisecond }})
	pid := f.HandlerPID()
	if status, _ := f.do(t, "GET", "/api/t", ""); status != http.StatusGatewayTimeout {
		t.Errorf("status %d", status)
	}
	if f.HandlerPID() != pid {
		t.Error("the front end's limit restarted the handler")
	}
}

// TestFrontEndTimeoutOfBody holds that a client that does not send what it has
// announced is cut, too.
func TestFrontEndTimeoutOfBody(t *testing.T) {
	t.Parallel()
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"post"`, "t")},
		change: func(c *Config) { c.FrontEndTimeout = 50 * time.Millisecond }})
	for name, sent := range map[string]string{"small": "Content-Length: 10\r\n\r\n12345", "large": "Content-Length: 1000000\r\n\r\n12345"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /api/t HTTP/1.1\r\nHost: localhost\r\n"+sent); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
}

// TestHTTPFunctionTimeoutKillsTheHandler holds that the handler is killed, and
// that a request without a body is sent once more then, under the same
// invocation id.
func TestHTTPFunctionTimeoutKillsTheHandler(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 2)
	var slow atomic.Bool
	slow.Store(true)
	f := start(t, spec{proxy: true, timeout: "00:00:01", functions: map[string]string{"T": httpFunctionJSON("anonymous", `"get"`, "t")},
		answer: func(_ http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get(headerInvocation)
			if slow.Swap(false) {
				<-r.Context().Done()
			}
		}, change: func(c *Config) { c.TimeoutGrace = 10 * time.Millisecond }})
	pid := f.HandlerPID()
	if status, body := f.do(t, "GET", "/api/t", ""); status != http.StatusOK {
		t.Errorf("status %d %s", status, body)
	}
	f.logs.until(t, "Timeout value of 1s was exceeded by function: Functions.T")
	if first, second := receive(t, seen), receive(t, seen); first == "" || first != second {
		t.Errorf("invocation ids %q and %q, want one", first, second)
	}
	if f.HandlerPID() == pid {
		t.Error("the handler was not restarted")
	}
}

// TestDyingHandlerGetsRequestsAgain kills the handler while it works on a
// request: one without a body comes again, the same; one with a body fails once,
// also if its length is not announced, so that what is left of it looks whole.
func TestDyingHandlerGetsRequestsAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	seen := make(chan string, 4)
	f := start(t, spec{proxy: true, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"delete","post"`, "t")},
		answer: func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get(headerInvocation)
			if calls.Add(1)%2 == 1 {
				w.Header().Set(exitHeader, "1")
			}
		}})
	if status, _ := f.do(t, "DELETE", "/api/t", ""); status != http.StatusOK {
		t.Errorf("without a body: %d", status)
	}
	if first, second := receive(t, seen), receive(t, seen); first == "" || first != second {
		t.Errorf("invocation ids %q and %q, want one", first, second)
	}
	f.logs.until(t, Repeated)
	resp, err := http.Post(f.url+"/api/t", "", io.MultiReader(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("with a body: %d", resp.StatusCode)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("the handler was called %d times, want 3", n)
	}
}

// TestRequestsWaitWhileTheHandlerRestarts kills the handler and sends a request
// with a body at once.
func TestRequestsWaitWhileTheHandlerRestarts(t *testing.T) {
	f := start(t, spec{proxy: true, answer: echo, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"post"`, "t")}})
	p, err := os.FindProcess(f.HandlerPID())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	f.logs.until(t, "the handler crashed")
	if status, body := f.do(t, "POST", "/api/t", "kept"); status != http.StatusTeapot || !strings.HasSuffix(body, "body=kept") {
		t.Errorf("%d %s", status, body)
	}
}

func TestThirdCrashEndsRun(t *testing.T) {
	t.Parallel()
	f := start(t, spec{proxy: true, functions: map[string]string{"T": httpFunctionJSON("anonymous", `"post"`, "t")},
		answer: func(w http.ResponseWriter, r *http.Request) { w.Header().Set(exitHeader, r.URL.Query().Get("code")) }})
	for i := range 3 {
		if status, _ := f.do(t, "POST", "/api/t?code=1", "x"); status != http.StatusInternalServerError {
			t.Errorf("crash %d: status %d", i, status)
		}
		f.logs.until(t, fmt.Sprintf("crash=%d", i+1))
	}
	if err := f.end(t); !errors.Is(err, ErrHandlerExceededRestarts) {
		t.Errorf("Run: %v", err)
	}
}

func TestEnvelope(t *testing.T) {
	f := start(t, spec{functions: map[string]string{"Env": httpFunctionJSON("anonymous", `"post"`, "env/{id}")},
		answer: func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method != "POST" || r.URL.Path != "/Env" || !strings.Contains(string(body), `"Params":{"id":"7"}`) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if r.Header.Get("User-Agent") != "Azure-Functions-Host/"+Version || r.Header.Get("X-Azure-Functions-HostVersion") != Version {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			reply(w, `{"Outputs":{"res":{"statusCode":201,"headers":{"X-A":"b"},"body":{"ok":true}}},"Logs":["a log line"]}`)
		}})
	if status, body := f.do(t, "POST", "/api/env/7", "{}"); status != http.StatusCreated || body != `{"ok":true}` {
		t.Errorf("%d %s\n%s", status, body, f.logs)
	}
	f.logs.until(t, "a log line")
	if status, _ := f.do(t, "POST", "/api/env/8", "{}"); status != http.StatusInternalServerError {
		t.Errorf("a handler's 400: %d, want 500", status)
	}
}

func TestConsole(t *testing.T) {
	type line struct {
		text   string
		stderr bool
	}
	lines := make(chan line, 10)
	start(t, spec{functions: map[string]string{"T": timerFn}, change: func(c *Config) {
		c.HandlerLog = func(text string, stderr bool) { lines <- line{text, stderr} }
	}})
	want := map[line]bool{{"hello from the handler", false}: true, {"Warning: to stderr", true}: true,
		{"Port is already in use: listen tcp: address already in use", true}: true}
	for range 3 {
		if l := receive(t, lines); !want[l] {
			t.Errorf("unexpected line %+v", l)
		} else {
			delete(want, l)
		}
	}
	for text, level := range map[line]string{{"x", false}: "INFO", {"x", true}: "ERROR", {"a WARNing", true}: "WARN", {"warn", false}: "INFO"} {
		if got := ConsoleLevel(text.text, text.stderr).String(); got != level {
			t.Errorf("%+v: %s, want %s", text, got, level)
		}
	}
}
