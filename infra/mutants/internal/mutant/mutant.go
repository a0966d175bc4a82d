// Package mutant describes small deliberate faults in copies of the source, and
// builds with one of them. The tests, or a run of chaos, should notice each
// mutant; an unnoticed one shows a gap in the proof.
//
// The go command's flag -overlay lays a fault over the source. No file of the
// project changes, so any number of mutants can be tried at the same time.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Mutant is one fault. It is a plain value.
type Mutant struct {
	Name   string // of lower-case words with hyphens; no other mutant has it
	Breaks string // one sentence: what is wrong with it
	File   string // relative to the project's root, with slashes
	// Before is in File exactly once; After takes its place.
	Before, After string
	// Tests are the packages, relative to the project's root, of which at least one
	// has a test that fails. Run, if it is not empty, is the regular expression of
	// those of their tests that are run.
	Tests []string
	Run   string
	// Invariant is the invariant of chaos that it breaks, by which chaos kills it;
	// "" if it breaks none. Chaos are flags with which a run of chaos meets it soon.
	Invariant string
	Chaos     []string
	// Business is the overlay of the business that these runs are of, relative to the
	// project's root; "" for the one that is shipped.
	Business string
}

// Area is the folder of the file, which says whose fault it is.
func (m Mutant) Area() string { return path.Dir(m.File) }

// InRuntime reports whether the fault is in the local runtime, and not in the
// handler that runs in it.
func (m Mutant) InRuntime() bool { return strings.HasPrefix(m.File, "infra/local/") }

// Change returns the source of File with the fault. The error says that the fault
// does not apply to that source.
func (m Mutant) Change(source string) (string, error) {
	if n := strings.Count(source, m.Before); n != 1 {
		return "", fmt.Errorf("mutant %s does not apply: what it replaces is %d times in %s, not once:\n%s", m.Name, n, m.File, m.Before)
	}
	if m.Before == m.After {
		return "", fmt.Errorf("mutant %s changes nothing", m.Name)
	}
	return strings.Replace(source, m.Before, m.After, 1), nil
}

// Overlay writes the changed copy and the go command's overlay into dir, which is
// the mutant's own, and returns the path of the overlay. What is built with it is of
// the mutant's Business. root is the project's, absolute.
func (m Mutant) Overlay(root, dir string) (string, error) {
	file := filepath.Join(root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	changed, err := m.Change(string(source))
	if err != nil {
		return "", err
	}
	copied, overlay := filepath.Join(dir, path.Base(m.File)), filepath.Join(dir, "overlay.json")
	replace, err := m.business(root)
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	replace[file] = copied
	content, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	if err := os.WriteFile(copied, []byte(changed), 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	if err := os.WriteFile(overlay, content, 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return overlay, nil
}

// business returns what the overlay of the mutant's Business replaces, by absolute
// paths.
func (m Mutant) business(root string) (map[string]string, error) {
	replace := map[string]string{}
	if m.Business == "" {
		return replace, nil
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.Business)))
	if err != nil {
		return nil, err
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(data, &overlay); err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Business, err)
	}
	for file, by := range overlay.Replace {
		replace[filepath.Join(root, filepath.FromSlash(file))] = filepath.Join(root, filepath.FromSlash(by))
	}
	return replace, nil
}
