// Package stage builds the staged app: the one folder that the Functions host
// runs. The host finds function.json only in direct children of its script
// root, so functions/<Name>/function.json becomes <Name>/function.json there,
// beside host.json and the handler's binary.
//
// The folders for this machine and for Azure differ only in the binary's
// target, in local.settings.json and .funcignore, and, with tokens (Entra), in
// the authLevel of the HTTP functions.
//
// The folder for Azure depends only on the project: staging again gives the
// same bytes. File modes do not depend on the umask. They matter in Azure: azd
// keeps them in its zip, and the host starts no handler without an execute bit.
package stage

import (
	"cmp"
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

// Auth is who checks the callers of the HTTP functions in Azure.
type Auth string

// The ways to check callers.
const (
	Entra Auth = "entra" // App Service authentication and the handler, by Entra ID's tokens
	Keys  Auth = "keys"  // the host, by function keys
)

// ErrNoModes is returned for Azure on a system whose files have no execute bit.
var ErrNoModes = errors.New("stage: for azure: Windows has no execute bit, so the handler's zip would lack it; " +
	"stage and deploy in WSL, or in CI on Linux")

// Options say what to stage.
type Options struct {
	Project string // the project's root; see FindProject
	Out     string // the folder to make; replaced when it exists
	Target  Target
	// Auth must be set for Azure. With Entra everyone may call the HTTP functions
	// as far as the host is concerned: it knows no tokens, only keys.
	Auth Auth
	// Generate takes every function.json from the handler instead of the project: for
	// another business than the project's.
	Generate bool
	// Profile builds a handler that package profile profiles. Not for Azure.
	Profile bool
	// GOOS is the system that stages; "" is this one.
	GOOS string
}

func (o Options) goos() string { return cmp.Or(o.GOOS, runtime.GOOS) }

// check refuses what can't become a staged app.
func (o Options) check() error {
	if o.Target != Azure {
		return nil
	}
	if o.Profile {
		return errors.New("stage: for azure: its handler writes no profiles")
	}
	if o.goos() == "windows" {
		return ErrNoModes
	}
	if o.Generate && runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		return errors.New("stage: for azure: the handler is for linux/amd64 and can't tell its functions here; run generate first")
	}
	if o.Auth != Entra && o.Auth != Keys {
		return fmt.Errorf("stage: for azure: auth %q: use %s or %s", o.Auth, Entra, Keys)
	}
	return nil
}

// funcignore keeps azd from packaging what it must not. The staged folder holds
// nothing else, so this guards against files that a tool left there.
const funcignore = "local.settings.json\n.vscode\n*.log\n"

// Stage builds the app into o.Out. The folder is complete or not there: it is
// made beside its place and then moved.
func Stage(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
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
	if err := build(ctx, o, filepath.Join(work, o.binaryName())); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(o.Project, "host.json"), filepath.Join(work, "host.json")); err != nil {
		return err
	}
	functions := copyFunctions
	if o.Generate {
		functions = generateFunctions
	}
	if err := functions(ctx, o, work); err != nil {
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
func (o Options) binaryName() string {
	if o.Target == Local && o.goos() == "windows" {
		return "handler.exe"
	}
	return "handler"
}

// copyFunctions copies every functions/<Name>/function.json.
func copyFunctions(_ context.Context, o Options, work string) error {
	const functions = "functions"
	entries, err := os.ReadDir(filepath.Join(o.Project, functions))
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			return fmt.Errorf("stage: %s: only folders with a function.json belong here", filepath.Join(functions, e.Name()))
		}
		content, err := os.ReadFile(filepath.Join(o.Project, functions, e.Name(), "function.json"))
		if err != nil {
			return fmt.Errorf("stage: %w", err)
		}
		if err := o.writeFunction(filepath.Join(work, e.Name()), content); err != nil {
			return err
		}
	}
	return nil
}

// writeFunction writes a function.json into a new folder.
func (o Options) writeFunction(folder string, content []byte) error {
	if o.Target == Azure && o.Auth == Entra {
		var err error
		if content, err = opened(content); err != nil {
			return fmt.Errorf("stage: function.json of %s: %w", filepath.Base(folder), err)
		}
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return writeFile(filepath.Join(folder, "function.json"), content)
}

func copySettings(o Options, work string) error {
	if o.Target == Azure {
		return writeFile(filepath.Join(work, ".funcignore"), []byte(funcignore))
	}
	// People put connection strings there: it is its owner's alone.
	settings := filepath.Join(work, "local.settings.json")
	if err := copyFile(filepath.Join(o.Project, "local.settings.json"), settings); err != nil {
		return err
	}
	if err := os.Chmod(settings, 0o600); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return writeFile(to, content)
}

// writeFile writes a file that everyone may read, whatever the umask.
func writeFile(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
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
