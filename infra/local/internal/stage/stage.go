// Package stage builds the staged app: the one folder that the Functions host
// runs. The host finds function.json only in direct children of its script
// root, so functions/<Name>/function.json becomes <Name>/function.json there,
// beside host.json and the handler's binary.
//
// The folder for this machine and the one for Azure differ only in what the
// binary is built for, and in local.settings.json and .funcignore.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Target is what a staged app is for.
type Target string

// The targets.
const (
	Local Target = "local" // this machine
	Azure Target = "azure" // Flex Consumption: linux/amd64
)

// Dir is where the target is staged by default, relative to the project.
func (t Target) Dir() string {
	if t == Azure {
		return filepath.Join(".build", "azure")
	}
	return filepath.Join(".build", "app")
}

// Options say what to stage.
type Options struct {
	Project string // the project's root; see FindProject
	Out     string // the folder to make; replaced when it exists
	Target  Target
	// Handler is the folder of another main package than the app's, relative to
	// the project; its functions are in the folder "functions" beside it. "" is
	// the app itself.
	Handler string
}

// handler is the main package to build, and the folder of its functions, relative to
// the project.
func (o Options) handler() (code, functions string) {
	if o.Handler == "" {
		return "handlers", "functions"
	}
	return o.Handler, filepath.Join(o.Handler, "functions")
}

// funcignore keeps azd from packaging what it must not. The staged folder holds
// nothing else, so this guards against files that a tool left there.
const funcignore = "local.settings.json\n.vscode\n*.log\n"

// Stage builds the app into o.Out. The folder is complete or not there: it is
// made beside its place and then moved.
func Stage(ctx context.Context, o Options) error {
	parent := filepath.Dir(o.Out)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	work, err := os.MkdirTemp(parent, ".staging-")
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := build(ctx, o, filepath.Join(work, binaryName(o.Target))); err != nil {
		return err
	}
	if err := copyFunctions(o, work); err != nil {
		return err
	}
	if err := copySettings(o, work); err != nil {
		return err
	}
	if err := os.RemoveAll(o.Out); err != nil {
		return fmt.Errorf("stage: replace %s: %w", o.Out, err)
	}
	if err := os.Rename(work, o.Out); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return nil
}

// binaryName is the name that host.json's defaultExecutablePath gives. The host
// adds no ".exe"; Windows needs it.
func binaryName(t Target) string {
	if t == Local && runtime.GOOS == "windows" {
		return "handler.exe"
	}
	return "handler"
}

// copyFunctions copies host.json and every functions/<Name>/function.json.
func copyFunctions(o Options, work string) error {
	if err := copyFile(filepath.Join(o.Project, "host.json"), filepath.Join(work, "host.json")); err != nil {
		return err
	}
	_, functions := o.handler()
	entries, err := os.ReadDir(filepath.Join(o.Project, functions))
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			return fmt.Errorf("stage: %s: only folders with a function.json belong here", filepath.Join(functions, e.Name()))
		}
		to := filepath.Join(work, e.Name())
		if err := os.Mkdir(to, 0o755); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
		from := filepath.Join(o.Project, functions, e.Name(), "function.json")
		if err := copyFile(from, filepath.Join(to, "function.json")); err != nil {
			return err
		}
	}
	return nil
}

func copySettings(o Options, work string) error {
	if o.Target == Azure {
		return os.WriteFile(filepath.Join(work, ".funcignore"), []byte(funcignore), 0o644)
	}
	return copyFile(filepath.Join(o.Project, "local.settings.json"), filepath.Join(work, "local.settings.json"))
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := os.WriteFile(to, content, 0o644); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return nil
}

// FindProject returns the nearest folder, from dir upwards, that holds this
// project's host.json and functions.
func FindProject(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := abs; ; {
		if isProject(at) {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("no project at %s or above: run this inside the clone (the folder with host.json, functions and go.mod)", abs)
		}
		at = up
	}
}

func isProject(dir string) bool {
	for _, name := range []string{"go.mod", "host.json", "functions", "handlers"} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
