package process

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own handler: these variables say what it is to do.
const (
	modeVar = "PROCESS_TEST_MODE"
	portVar = "PROCESS_TEST_PORT"
)

func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeVar); {
	case mode == "":
		goleak.VerifyTestMain(m)
	case mode == "deaf":
		select {}
	case mode == "parent":
		parent()
	case strings.HasPrefix(mode, "exit:"):
		fmt.Fprintln(os.Stderr, "first\nsecond\nthird\nlast words")
		code, _ := strconv.Atoi(mode[len("exit:"):])
		os.Exit(code)
	default:
		serve()
	}
}

// serve is a handler: it says where it is, and exits when told to.
func serve() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/exit/{code}", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		os.Exit(code)
	})
	fmt.Println("to stdout")
	fmt.Fprint(os.Stderr, "to stderr, without an end")
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv(portVar), mux)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// parent runs a supervisor whose child is a handler, until it is killed.
func parent() {
	o := options("serve", os.Getenv(portVar), func(string, bool) {})
	o.Logger = slog.New(slog.DiscardHandler)
	s := New(o)
	go func() {
		if s.WaitReady(context.Background(), time.Minute) == nil {
			fmt.Println("ready")
		}
	}()
	if err := s.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func options(mode, port string, line func(string, bool)) Options {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{
		Path: exe, Dir: os.TempDir(), Env: append(os.Environ(), modeVar+"="+mode, portVar+"="+port), URL: "http://127.0.0.1:" + port,
		InitializationTimeout: 20 * time.Second, Client: &http.Client{Transport: &http.Transport{}}, Line: line, Now: time.Now,
	}
}

// fixture is a running supervisor.
type fixture struct {
	*Supervisor
	url    string
	cancel context.CancelFunc
	result chan error

	mu    sync.Mutex
	lines []string
	log   []string
	wrote chan struct{}
}

func start(t *testing.T, mode string, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{result: make(chan error, 1), wrote: make(chan struct{}, 1)}
	o := options(mode, freePort(t), func(line string, stderr bool) { f.note(&f.lines, fmt.Sprintf("%t %s", stderr, line)) })
	o.Logger = slog.New(slog.NewTextHandler(writer(func(p string) { f.note(&f.log, p) }), nil))
	if change != nil {
		change(&o)
	}
	f.url, f.Supervisor = o.URL, New(o)
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go func() { f.result <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-f.result
		o.Client.CloseIdleConnections()
	})
	return f
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

func (f *fixture) note(list *[]string, text string) {
	f.mu.Lock()
	*list = append(*list, text)
	f.mu.Unlock()
	select {
	case f.wrote <- struct{}{}:
	default:
	}
}

// until waits for a text among the console lines or the log.
func (f *fixture) until(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		f.mu.Lock()
		all := strings.Join(append(append([]string(nil), f.lines...), f.log...), "\n")
		f.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-f.wrote:
		case <-deadline:
			t.Fatalf("no %q in\n%s", text, all)
		}
	}
}

// end waits for the end of Run and keeps it for the cleanup.
func (f *fixture) end(t *testing.T) error {
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

func (f *fixture) ready(t *testing.T) int {
	t.Helper()
	if err := f.WaitReady(context.Background(), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	return f.PID()
}

// exit makes the handler exit and waits until it has.
func (f *fixture) exit(t *testing.T, code int) {
	t.Helper()
	pid := f.PID()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if resp, err := client.Get(fmt.Sprintf("%s/exit/%d", f.url, code)); err == nil {
		resp.Body.Close()
		t.Fatal("the handler answered instead of exiting")
	}
	for f.PID() == pid {
		f.nextChange()
	}
}

// nextChange waits for the next change of state.
func (f *fixture) nextChange() {
	f.Supervisor.mu.Lock()
	changed := f.changed
	f.Supervisor.mu.Unlock()
	select {
	case <-changed:
	case <-time.After(10 * time.Millisecond):
	}
}

// readUntil reads a reader's lines until one is found.
func readUntil(r *bufio.Reader, want string) error {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == want {
			return nil
		}
	}
}
