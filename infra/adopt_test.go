package infra_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a file in docs/adopt.md: its name in a line of its own, and its content.
var block = regexp.MustCompile("(?m)^`([a-z/]+\\.go)`:\n\n```go\n((?s:.*?))\n```$")

// TestAdoptedBusinessRuns builds the handler and the tool with the files of
// docs/adopt.md in their places, and has requests of every kind end as the page's
// trial says.
func TestAdoptedBusinessRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs the whole system")
	}
	page, err := os.ReadFile("../docs/adopt.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		file := filepath.Join(dir, strings.ReplaceAll(m[1], "/", "_"))
		if err := os.WriteFile(file, []byte(m[2]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, filepath.FromSlash(m[1]))] = file
	}
	if len(replace) != 6 {
		t.Fatalf("%d files are on the page, want 4 of the business and the 2 that choose it", len(replace))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, tool, app := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "local.exe"), filepath.Join(dir, "app")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-overlay="+list)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, output)
		}
		return string(output)
	}
	run("go", "build", "-o", tool, "./infra/local")
	run(tool, "stage", "-out", app)
	const free = "127.0.0.1:0"
	out := run(tool, "demo", "-exit", "-deliveries", "20", "-app", app, "-http", free, "-amqp", free, "-cosmos", free)
	for _, want := range []string{"every one is final", "held, paid and confirmed", "the night is free again"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
}
