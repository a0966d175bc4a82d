// Package proof builds the handler and the tool as those of another business, orders
// or the one of docs/adopt.md, and runs them.
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

// tool is the local runtime of another business.
type tool struct {
	path, dir string
	env       []string // in which every build is one of that business, also those that the tool makes
}

// build builds the tool with the files that an overlay names.
func build(t *testing.T, overlay string) tool {
	t.Helper()
	dir := t.TempDir()
	b := tool{filepath.Join(dir, "local.exe"), dir, append(os.Environ(), "GOFLAGS=-overlay="+overlay)}
	b.must(t, "go", "build", "-o", b.path, "./infra/local")
	return b
}

// run runs a command in the project, and returns what it wrote.
func (b tool) run(t *testing.T, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = root, b.env
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// must is run of a command that ends well.
func (b tool) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := b.run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, output)
	}
	return output
}

// served is a system that runs.
type served struct {
	HTTP, CosmosDB, ServiceBus string
	log                        string // the path of its log
	output                     *lines // what the tool writes
}

// serve serves an app, which the tool has staged, until the test ends.
func (b tool) serve(t *testing.T, app string, args ...string) served {
	t.Helper()
	const free = "127.0.0.1:0"
	output := &lines{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), b.path,
		append([]string{"serve", "-app", app, "-http", free, "-amqp", free, "-cosmos", free}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, b.env, output, output
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
