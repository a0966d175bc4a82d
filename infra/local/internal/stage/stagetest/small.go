// Package stagetest has a small project that stages at once.
package stagetest

import (
	"errors"
	"os"
	"path/filepath"
)

// Small makes a project in the folder dir that has all of another one but its
// handler: that does nothing. To build the real one for Azure as well, whose
// flags let nothing be shared with the one for this machine, takes minutes of
// processor time on a new machine; .ci/run does it once.
func Small(project, dir string) error {
	errs := []error{os.MkdirAll(filepath.Join(dir, "handlers"), 0o755)}
	for name, text := range map[string]string{
		"go.mod":           "module example.com/small\n\ngo 1.26.0\n",
		"handlers/main.go": "package main\n\nfunc main() {}\n",
	} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644))
	}
	errs = append(errs, os.MkdirAll(filepath.Join(dir, "infra"), 0o755))
	for _, name := range []string{"host.json", "local.settings.json", "infra/business.json"} {
		content, err := os.ReadFile(filepath.Join(project, filepath.FromSlash(name)))
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), content, 0o644))
	}
	errs = append(errs, os.CopyFS(filepath.Join(dir, "functions"), os.DirFS(filepath.Join(project, "functions"))))
	return errors.Join(errs...)
}
