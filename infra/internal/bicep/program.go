package bicep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program is a Bicep file with all files that it names. It is read-only and
// safe for concurrent use.
type Program struct {
	main  *file
	files map[string]*file // by path
}

// Load reads a file and, by their paths, the modules and imports of it and of
// those. The error joins what is wrong in any of them, by position.
func Load(path string) (*Program, error) {
	p := &Program{files: map[string]*file{}}
	path = filepath.Clean(path)
	if err := p.read(path); err != nil {
		return nil, err
	}
	p.main = p.files[path]
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Declaration is what a file declares at its top, or a resource that it
// declares inside another.
type Declaration struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Type is the type of a param or output as far as it is one name, with []
	// and ? behind it, type@version of a resource, the path of a module.
	Type string `json:"type,omitempty"`
}

// Declarations lists what a file's text declares, in its order.
func Declarations(path, text string) ([]Declaration, error) {
	f, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var out []Declaration
	for _, d := range flat(f.declarations) {
		declared := Declaration{Kind: d.kind, Name: d.name, Type: d.source}
		if d.kind == Param || d.kind == Output {
			declared.Type = d.of.plain()
		}
		out = append(out, declared)
	}
	return out, nil
}

// flat lists declarations, each before those inside it.
func flat(declarations []*declaration) []*declaration {
	var out []*declaration
	for _, d := range declarations {
		out = append(append(out, d), flat(d.children)...)
	}
	return out
}

// plain is a type's name with its suffixes, "" if it has no name.
func (t *typeExpr) plain() string {
	switch t.kind {
	case namedType:
		return t.name
	case arrayType, nullableType:
		suffix := map[typeKind]string{arrayType: "[]", nullableType: "?"}[t.kind]
		if inner := t.item.plain(); inner != "" {
			return inner + suffix
		}
	}
	return ""
}

// Files are the paths of all files read, sorted.
func (p *Program) Files() []string {
	var out []string
	for path := range p.files {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// read parses a file and what it names, each file once.
func (p *Program) read(path string) error {
	if p.files[path] != nil {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a Bicep file: %w", err)
	}
	f, err := parse(path, string(text))
	if err != nil {
		return err
	}
	p.files[path] = f
	var errs []error
	follow := func(at Position, to string) {
		if strings.ContainsAny(to, ":") {
			errs = append(errs, errorAt(at, "%s is not a file here: only modules of files are read", to))
		} else if err := p.read(beside(path, to)); err != nil {
			errs = append(errs, errorAt(at, "%s: %v", to, err))
		}
	}
	for _, i := range f.imports {
		follow(i.at, i.path)
	}
	for _, d := range f.declarations {
		if d.kind == Module {
			follow(d.at, d.source)
		}
	}
	return errors.Join(errs...)
}

// beside returns the path that a file means by a relative path.
func beside(path, relative string) string {
	return filepath.Join(filepath.Dir(path), filepath.FromSlash(relative))
}

// declared returns the file's declaration of a name, of one of the kinds.
func (f *file) declared(name string, kinds ...Kind) *declaration {
	for _, d := range f.declarations {
		if d.name == name && slices.Contains(kinds, d.kind) {
			return d
		}
	}
	return nil
}

// exported finds what an import's name or alias.name means in its file.
func (p *Program) exported(from *file, i *importing, name string) *declaration {
	d := p.files[beside(from.path, i.path)].declared(name, Var, Type, Function)
	if d == nil || d.decorator("export") == nil {
		return nil
	}
	return d
}
