package chosen_test

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fabrikam/drone-delivery/"

// imported are the packages of this module that a package imports without a build
// tag, by package: both as paths within the module. Names of packages that only tests import begin
// with "test:".
func imported(t *testing.T) map[string][]string {
	t.Helper()
	const root = "../.."
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		if built, err := build.Default.MatchFile(filepath.Split(file)); err != nil || !built {
			return err // it is in no shipped binary
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		from := filepath.ToSlash(within)
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if name, ours := strings.CutPrefix(name, module); ours {
				if strings.HasSuffix(file, "_test.go") {
					name = "test:" + name
				}
				all[from] = append(all[from], name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ofBusiness reports whether a package is one of the business's.
func ofBusiness(name string) bool {
	return name == "shared/delivery" || strings.HasPrefix(name, "shared/delivery/")
}

// choosing are the only packages that name the business. Their counterparts choose
// another one.
var choosing = []string{"shared/chosen", "infra/local/internal/chosen"}

// ofItsTests are packages whose tests use records of this business, to judge by
// them what works for any.
var ofItsTests = []string{"handlers", "infra/local", "infra/local/internal/contract", "infra/local/internal/invariant"}

// Ensure that nothing but the files that choose the business names it: another
// one takes its place without a change elsewhere.
func TestNobodyElseNamesTheBusiness(t *testing.T) {
	var tests []string
	for from, names := range imported(t) {
		for _, name := range names {
			inTest, is := strings.CutPrefix(name, "test:")
			switch {
			case !ofBusiness(inTest) || ofBusiness(from) || slices.Contains(choosing, from):
			case is && slices.Contains(ofItsTests, from):
				tests = append(tests, from)
			default:
				t.Errorf("%s imports %s", from, inTest)
			}
		}
	}
	slices.Sort(tests)
	if got := slices.Compact(tests); !slices.Equal(got, ofItsTests) {
		t.Errorf("tests of %v name the business, and the list says %v", got, ofItsTests)
	}
}

// Ensure that the shipped handler holds nothing of the proof, and one business.
func TestTheHandlerHoldsNoTrial(t *testing.T) {
	all := imported(t)
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, next := range all[name] {
			if !strings.HasPrefix(next, "test:") {
				visit(next)
			}
		}
	}
	visit("handlers")
	if !seen["shared/delivery"] {
		t.Fatal("the handler holds no business")
	}
	for name := range seen {
		if path.Base(name) == "trial" || strings.HasPrefix(name, "shared/orders") || strings.HasPrefix(name, "infra/") {
			t.Errorf("the handler holds %s", name)
		}
	}
}
