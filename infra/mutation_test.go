package infra_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit replaces a text in a file of a copy, everywhere in it.
type edit struct{ file, old, new string }

// fault is what somebody could do to the files, and what a check says of it.
type fault struct {
	check string // that finds it; "" if the files can't be deployed then
	say   string // a part of the message
	edits []edit
}

// everything is the scenario in which most is deployed.
var everything = scenario{size: "standard", auth: "entra", vnet: true, notify: true, otlp: true, developer: true}

// plain is the one in which the least is deployed.
var plain = scenario{size: "small", auth: "keys"}

// stamped is a further shard of another environment.
var stamped = scenario{size: "standard", auth: "entra", notify: true, otlp: true, developer: true, stamp: true}

// TestChecksCanFail makes each fault in a copy of the files and expects its
// check to find it, so that no check passes because it looks at nothing.
func TestChecksCanFail(t *testing.T) {
	found := map[string]bool{}
	for _, f := range faults() {
		found[f.check] = true
		t.Run(f.check+": "+f.say, func(t *testing.T) {
			t.Parallel()
			root := copyOf(t, f.edits)
			var got []string
			for _, s := range []scenario{everything, plain, stamped} {
				got = append(got, problems(root, s, f.check)...)
				if slices.ContainsFunc(got, func(problem string) bool { return strings.Contains(problem, f.say) }) {
					return
				}
			}
			t.Errorf("got %s", strings.Join(got, "\n"))
		})
	}
	for _, c := range checks() {
		if !found[c.name] {
			t.Errorf("no fault is made for the check %q", c.name)
		}
	}
}

// problems are what a check finds, or the error of the files where the check is
// "".
func problems(root string, s scenario, name string) []string {
	w, err := load(root, s)
	switch {
	case err != nil && name == "":
		return []string{err.Error()}
	case err != nil:
		return []string{"the files are not deployed: " + err.Error()}
	}
	for _, c := range checks() {
		if c.name == name {
			return c.run(w)
		}
	}
	return nil
}

// copied are the files that the checks read, besides the code.
var copied = []string{
	"azure.yaml", "host.json", "local.settings.json", "functions/*/function.json",
	"infra/*.bicep", "infra/business.json", "infra/main.parameters.json", "infra/modules/*",
}

// copyOf makes a copy of the files with edits.
func copyOf(t *testing.T, edits []edit) string {
	t.Helper()
	root := t.TempDir()
	applied := map[edit]bool{}
	for _, pattern := range copied {
		paths, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			for _, e := range edits {
				if e.file == name && strings.Contains(text, e.old) {
					text, applied[e] = strings.ReplaceAll(text, e.old, e.new), true
				}
			}
			to := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range edits {
		if !applied[e] {
			t.Fatalf("%s has no %q any more: give this fault another edit", e.file, e.old)
		}
	}
	return root
}
