package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ensure that a handler that would answer anyone in Azure does not run.
func TestHandlerThatIsOpenToAnyoneDoesNotRun(t *testing.T) {
	staged := t.TempDir()
	if err := os.CopyFS(staged, os.DirFS("../functions")); err != nil {
		t.Fatal(err)
	}
	// One function of an app that was staged for tokens.
	open := t.TempDir()
	if err := os.CopyFS(open, os.DirFS("../functions")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(open, "Operations", "function.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), `"function"`, `"Anonymous"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ mode, site, root, want string }{
		"on a developer's machine":         {"off", "", "", ""},
		"unguarded in Azure":               {"off", "app-1", staged, "AUTH_MODE: off is for a developer's machine"},
		"with keys":                        {"keys", "app-1", staged, ""},
		"with keys, staged for tokens":     {"keys", "app-1", open, "Operations is staged for tokens"},
		"with keys, and nothing is staged": {"keys", "", t.TempDir(), "cannot tell who checks the callers of Ingest"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "AUTH_MODE", c.mode)
			err := w.app.exposed(func(name string) string {
				return map[string]string{siteVariable: c.site, rootVariable: c.root}[name]
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	var stdout, stderr syncBuffer
	if code := run(context.Background(), environment("http://localhost", siteVariable, "app-1"), &stdout, &stderr); code != exitFatal || !strings.Contains(stderr.String(), "AUTH_MODE") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
