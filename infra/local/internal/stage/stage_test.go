package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage/stagetest"
)

// The staged apps that the tests look at: for this machine, and for Azure with
// both ways to check callers. Those are of the project small.
var local, entra, keys, small string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "stage-test")
		if err == nil {
			defer os.RemoveAll(dir)
			err = stageAll(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// stageAll stages the apps below dir; one of them by somebody whose files nobody
// else may read.
func stageAll(dir string) error {
	project, err := stage.FindProject(".")
	if err != nil {
		return err
	}
	local, entra, keys, small = filepath.Join(dir, "local"), filepath.Join(dir, "entra"), filepath.Join(dir, "keys"), filepath.Join(dir, "small")
	if err := stagetest.Small(project, small); err != nil {
		return err
	}
	// The tests look at files, not at what a zip from Windows would have.
	azure := stage.Options{Project: small, Out: entra, Target: stage.Azure, Auth: stage.Entra, GOOS: "linux"}
	ctx := context.Background()
	err = errors.Join(
		stage.Stage(ctx, stage.Options{Project: project, Out: local, Target: stage.Local}),
		stage.Stage(ctx, azure),
	)
	withUmask(0o077, func() {
		azure.Out, azure.Auth = keys, stage.Keys
		err = errors.Join(err, stage.Stage(ctx, azure))
	})
	return err
}

func project(t *testing.T) string {
	t.Helper()
	dir, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents maps each file below dir, but the binary, to what is in it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "handler") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Ensure the app that runs here is the app that runs in Azure.
func TestStagedAppsDifferOnlyInSettings(t *testing.T) {
	here := contents(t, local)
	if _, ok := here["local.settings.json"]; !ok {
		t.Error("local: no local.settings.json")
	}
	if info, err := os.Stat(filepath.Join(local, "local.settings.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("local: the settings are open to others: %v, %v", info.Mode(), err)
	}
	delete(here, "local.settings.json")
	for _, dir := range []string{entra, keys} {
		there := contents(t, dir)
		if _, ok := there[".funcignore"]; !ok {
			t.Errorf("%s: no .funcignore", dir)
		}
		delete(there, ".funcignore")
		if dir == entra {
			there = closed(t, there, here)
		}
		if !maps.Equal(here, there) {
			t.Errorf("the staged apps differ:\nlocal %v\n%s %v", here, dir, there)
		}
	}
}

// closed undoes what may differ where tokens are checked: in the function.json of
// an HTTP function that wants a key, the one word that says so.
func closed(t *testing.T, staged, original map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(staged)
	changed := 0
	for name, text := range original {
		if strings.Contains(text, `"httpTrigger"`) && strings.Contains(text, `"authLevel": "function"`) {
			out[name] = strings.Replace(staged[name], `"authLevel": "anonymous"`, `"authLevel": "function"`, 1)
			changed++
		}
		if strings.Contains(staged[name], `"authLevel": "function"`) {
			t.Errorf("%s wants a key: %s", name, staged[name])
		}
	}
	if changed < 5 {
		t.Errorf("%d functions want a key", changed)
	}
	return out
}

func TestStageReplacesAnOldFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "app")
	if err := os.MkdirAll(filepath.Join(out, "Gone"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := stage.Stage(t.Context(), stage.Options{Project: project(t), Out: out, Target: stage.Local})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "Gone")); !os.IsNotExist(err) {
		t.Errorf("the old folder's content is still there: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".staging-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Ensure that Windows, whose zips have no execute bit, stages nothing for Azure, and
// says in one line what to do.
func TestNothingForAzureOnWindows(t *testing.T) {
	out := filepath.Join(t.TempDir(), "app")
	err := stage.Stage(t.Context(), stage.Options{Project: project(t), Out: out, Target: stage.Azure, Auth: stage.Entra, GOOS: "windows"})
	if !errors.Is(err, stage.ErrNoModes) {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "WSL") || !strings.Contains(text, "CI") || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("something was staged: %v", err)
	}
}

func TestAzureNeedsAWayToCheckCallers(t *testing.T) {
	for _, auth := range []stage.Auth{"", "off"} {
		err := stage.Stage(t.Context(), stage.Options{Project: project(t), Out: filepath.Join(t.TempDir(), "app"), Target: stage.Azure, Auth: auth, GOOS: "linux"})
		if err == nil || !strings.Contains(err.Error(), "use entra or keys") {
			t.Errorf("%q: %v", auth, err)
		}
	}
}

func TestFindProjectOutside(t *testing.T) {
	if dir, err := stage.FindProject(t.TempDir()); err == nil {
		t.Errorf("found %s", dir)
	}
}
