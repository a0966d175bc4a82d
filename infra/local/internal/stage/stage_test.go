package stage_test

import (
	"crypto/sha256"
	"debug/elf"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
)

func project(t *testing.T) string {
	t.Helper()
	dir, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func stageInto(t *testing.T, target stage.Target) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "app")
	err := stage.Stage(t.Context(), stage.Options{Project: project(t), Out: out, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// files maps each file below dir, but the binary, to the hash of its content.
func files(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	found := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "handler") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Ensure the app that runs here is the app that runs in Azure.
func TestStagedAppsDifferOnlyInSettings(t *testing.T) {
	local, azure := stageInto(t, stage.Local), stageInto(t, stage.Azure)
	here, there := files(t, local), files(t, azure)

	if _, ok := here["local.settings.json"]; !ok {
		t.Error("local: no local.settings.json")
	}
	if _, ok := there[".funcignore"]; !ok {
		t.Error("azure: no .funcignore")
	}
	delete(here, "local.settings.json")
	delete(there, ".funcignore")
	if !maps.Equal(here, there) {
		t.Errorf("the staged apps differ:\nlocal %v\nazure %v", here, there)
	}
	if _, ok := here["host.json"]; !ok {
		t.Error("no host.json")
	}
	functions, err := filepath.Glob(filepath.Join(project(t), "functions", "*"))
	if err != nil || len(functions) == 0 {
		t.Fatalf("functions: %v, %v", functions, err)
	}
	for _, f := range functions {
		if _, ok := here[filepath.Base(f)+"/function.json"]; !ok {
			t.Errorf("%s is not staged", filepath.Base(f))
		}
	}

	binary, err := elf.Open(filepath.Join(azure, "handler"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if binary.Machine != elf.EM_X86_64 {
		t.Errorf("azure: handler is built for %v", binary.Machine)
	}
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("azure: handler is not static: %v, %v", libraries, err)
	}
	if binary.Section(".symtab") != nil {
		t.Error("azure: handler is not stripped")
	}
	if runtime.GOOS != "windows" {
		for _, dir := range []string{local, azure} {
			info, err := os.Stat(filepath.Join(dir, "handler"))
			if err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%s: handler: %v, %v; want mode 0755", dir, info, err)
			}
		}
	}
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

// Ensure another handler is staged with its own functions, and nothing of the
// app's but the host's and the local settings.
func TestStageAnotherHandler(t *testing.T) {
	out := filepath.Join(t.TempDir(), "app")
	reference := filepath.Join("infra", "local", "internal", "reference")
	o := stage.Options{Project: project(t), Out: out, Target: stage.Local, Handler: reference}
	if err := stage.Stage(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	staged := files(t, out)
	for _, name := range []string{"host.json", "local.settings.json"} {
		content, err := os.ReadFile(filepath.Join(o.Project, name))
		if err != nil || staged[name] != sha256.Sum256(content) {
			t.Errorf("%s is not the project's: %v", name, err)
		}
		delete(staged, name)
	}
	own := files(t, filepath.Join(o.Project, reference, "functions"))
	if len(own) == 0 || !maps.Equal(own, staged) {
		t.Errorf("staged %v, want the handler's own functions %v", staged, own)
	}
	if _, err := exec.LookPath(filepath.Join(out, "handler")); runtime.GOOS != "windows" && err != nil {
		t.Errorf("no handler: %v", err)
	}

	o.Handler = filepath.Join("infra", "local", "internal", "nowhere")
	if err := stage.Stage(t.Context(), o); err == nil || !strings.Contains(err.Error(), "./infra/local/internal/nowhere") {
		t.Errorf("a handler that is not there: %v", err)
	}
}

func TestFindProjectOutside(t *testing.T) {
	if dir, err := stage.FindProject(t.TempDir()); err == nil {
		t.Errorf("found %s", dir)
	}
}
