package proof

import (
	"encoding/json"
	"errors"
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
		t.Skip("-short: it builds and runs the whole system")
	}
	b := adopted(t, nil)
	app := filepath.Join(t.TempDir(), "app")
	b.must(t, b.path, "stage", "-out", app)
	const free = "127.0.0.1:0"
	out := b.must(t, b.path, "demo", "-exit", "-requests", "20", "-app", app, "-http", free, "-amqp", free, "-cosmos", free)
	for _, want := range []string{"every one is final", "held, paid and confirmed", "the night is free again"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
}

// Ensure that a mistake in the definition is named before anything is built, by each
// command that runs the business.
func TestMistakeOfAnAdopter(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds the tool anew")
	}
	b := adopted(t, strings.NewReplacer(`After: []string{stepNight}`, `After: []string{"nihgt"}`))
	for _, command := range []string{"serve", "demo", "chaos"} {
		out, err := b.run(t, b.path, command)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Contains(out, "building") ||
			!strings.Contains(out, `step "deposit": it follows "nihgt", which must be listed before it`) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// adopted builds the tool with the files of docs/adopt.md, which spoil changes if it is
// not nil.
func adopted(t *testing.T, spoil *strings.Replacer) tool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "adopt.md"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	spoilt := spoil == nil
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		content := m[2] + "\n"
		if spoil != nil {
			content = spoil.Replace(content)
			spoilt = spoilt || content != m[2]+"\n"
		}
		file := filepath.Join(dir, strings.ReplaceAll(m[1], "/", "_"))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(project, filepath.FromSlash(m[1]))] = file
	}
	if len(replace) != 6 || !spoilt {
		t.Fatalf("%d files are on the page, want 4 of the business and the 2 that choose it; the mistake was made: %t", len(replace), spoilt)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, list)
}
