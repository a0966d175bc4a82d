package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestChange(t *testing.T) {
	m := Mutant{Name: "m", File: "a.go", Before: "a < b", After: "a <= b"}
	for source, want := range map[string]string{
		"if a < b {}":          "if a <= b {}",
		"if a > b {}":          "",
		"if a < b {}; a < b()": "",
	} {
		got, err := m.Change(source)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q becomes %q (%v), want %q", source, got, err, want)
		}
	}
	same := Mutant{Name: "m", Before: "a", After: "a"}
	if _, err := same.Change("a"); err == nil {
		t.Error("a mutant that changes nothing applies")
	}
}

// Ensure the go command reads the copy with the fault, in the mutant's business, and
// the source stays as it is.
func TestOverlay(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n", "one/one.go": "package right\n",
		"two/two.go": "package shipped\n", "other/two.go": "package other\n",
		"other/overlay.json": `{"Replace": {"two/two.go": "other/two.go"}}`,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := Mutant{Name: "m", File: "one/one.go", Before: "right", After: "wrong"}
	of := m
	of.Business = "other/overlay.json"
	for want, m := range map[string]*Mutant{"right shipped": nil, "wrong shipped": &m, "wrong other": &of} {
		flags := ""
		if m != nil {
			overlay, err := m.Overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			flags = "-overlay=" + overlay
		}
		cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Name}}", "./one", "./two")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS="+flags, "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("GOFLAGS=%s: packages %s (%v), want %s", flags, got, err, want)
		}
	}
}
