package stage_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"debug/elf"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
)

// zipped packs a staged folder as azd does since 1.26.0: with the modes of the
// files, without .funcignore, and without what that names.
func zipped(t *testing.T, dir string) *zip.Reader {
	t.Helper()
	ignored, err := os.ReadFile(filepath.Join(dir, ".funcignore"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := append(strings.Fields(string(ignored)), ".funcignore")
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		for _, p := range patterns {
			if hit, err := filepath.Match(p, d.Name()); err != nil || hit {
				return err
			}
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		header, err := zip.FileInfoHeader(info)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		header.Name, header.Method = filepath.ToSlash(name), zip.Deflate
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		entry, err := w.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(content)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("packed: %.1f MB", float64(packed.Len())/1e6)
	r, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Ensure that what is deployed is laid out as the host looks for it: host.json
// and the handler at the top, each function in a folder there with nothing but
// its function.json, and no settings of this machine.
func TestPackageLayoutAndModes(t *testing.T) {
	want := map[string]fs.FileMode{"handler": 0o755, "host.json": 0o644}
	functions, err := os.ReadDir(filepath.Join(project(t), "functions"))
	if err != nil || len(functions) == 0 {
		t.Fatalf("functions: %v, %v", functions, err)
	}
	for _, f := range functions {
		want[f.Name()+"/function.json"] = 0o644
	}
	// What a tool leaves in the folder is not deployed.
	for _, stray := range []string{"local.settings.json", "trace.log"} {
		path := filepath.Join(keys, stray)
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
	}
	for _, dir := range []string{entra, keys} {
		var names []string
		for _, f := range zipped(t, dir).File {
			names = append(names, f.Name)
			mode, ok := want[f.Name]
			switch {
			case !ok:
				t.Errorf("%s: %s is deployed, too", dir, f.Name)
			case !f.Mode().IsRegular() || runtime.GOOS != "windows" && f.Mode().Perm() != mode:
				t.Errorf("%s: %s has mode %v, want %v", dir, f.Name, f.Mode(), mode)
			}
		}
		for name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is not deployed", dir, name)
			}
		}
	}
}

// Ensure that a folder can be entered by the host's own user, too.
func TestFoldersAreOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // folders have no modes there
	}
	for _, dir := range []string{local, entra, keys} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Ensure that the handler runs on the plan's machines, whatever they have
// installed.
func TestHandlerForAzure(t *testing.T) {
	binary, err := elf.Open(filepath.Join(entra, "handler"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if binary.Class != elf.ELFCLASS64 || binary.Machine != elf.EM_X86_64 || binary.OSABI != elf.ELFOSABI_NONE {
		t.Errorf("built for %v, %v, %v", binary.Class, binary.Machine, binary.OSABI)
	}
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("needs the libraries %v: %v", libraries, err)
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("needs a dynamic linker")
		}
	}
	for _, s := range binary.Sections {
		if s.Name == ".symtab" || strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			t.Errorf("is not stripped: %s", s.Name)
		}
	}
}

// Ensure that the same project gives the same handler, byte for byte, wherever and
// by whomever it is staged. That the other files are the project's own is held by
// TestStagedAppsDifferOnlyInSettings.
func TestStagedTwiceIsTheSame(t *testing.T) {
	first, err := os.ReadFile(filepath.Join(entra, "handler"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(keys, "handler"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("two handlers: %d and %d bytes", len(first), len(second))
	}
	if bytes.Contains(first, []byte(small+string(filepath.Separator))) {
		t.Errorf("the handler knows that it was built in %s", small)
	}
}

func TestSize(t *testing.T) {
	dir := t.TempDir()
	for name, bytes := range map[string]int{"a": 1_000_000, "b": 500_000} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, bytes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	size, err := stage.SizeOf(dir)
	if err != nil || size.String() != "2 files, 1.5 MB" {
		t.Errorf("got %v, %v", size, err)
	}
	if _, err := stage.SizeOf(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that isn't there has a size")
	}
}
