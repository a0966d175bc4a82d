// Package proof builds the handler and the tool as those of orders, and runs them.
package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// root is the project.
const root = "../../.."

// overlaid is the environment in which every build is one of orders, also those
// that the tool makes.
func overlaid() []string {
	return append(os.Environ(), "GOFLAGS=-overlay=shared/orders/overlay/overlay.json")
}

// tool is the local runtime of orders, with its app staged.
type tool struct{ path, dir, app string }

// build builds the tool, and has it stage the app.
func build(t *testing.T) tool {
	t.Helper()
	dir := t.TempDir()
	b := tool{filepath.Join(dir, "local.exe"), dir, filepath.Join(dir, "app")}
	run(t, exec.CommandContext(t.Context(), "go", "build", "-o", b.path, "./infra/local"))
	run(t, exec.CommandContext(t.Context(), b.path, "stage", "-out", b.app))
	return b
}

// run runs a command in the project, and returns what it wrote.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Dir, cmd.Env = root, overlaid()
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, output)
	}
	return string(output)
}

// served is a system that runs.
type served struct {
	HTTP, CosmosDB, ServiceBus string
	log                        string // the path of its log
	output                     *lines // what the tool writes
}

// serve serves the app until the test ends.
func (b tool) serve(t *testing.T, args ...string) served {
	t.Helper()
	const free = "127.0.0.1:0"
	output := &lines{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), b.path,
		append([]string{"serve", "-app", b.app, "-http", free, "-amqp", free, "-cosmos", free}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, overlaid(), output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-ended
		if t.Failed() {
			t.Logf("serve:\n%s", output.String())
		}
	})
	s := served{log: filepath.Join(b.dir, "local", "log.txt"), output: output}
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case err := <-ended:
			ended <- err
			t.Fatalf("serve ended: %v", err)
		case <-t.Context().Done():
			t.Fatal("serve does not begin to serve")
		}
		if !strings.Contains(output.String(), "\nserving;") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(b.dir, "local", "endpoints.json"))
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// lines is what a process writes, to be read meanwhile.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
