package list

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

const root = "../../../.."

var name = regexp.MustCompile(`^[a-z]+('s)?(-[a-z]+('s)?)*$`)

// Ensure each mutant can still be put into the source, and names what there is.
func TestMutantsApply(t *testing.T) {
	mutants, rules := All(), invariants(t)
	if len(mutants) < 60 {
		t.Errorf("there are %d mutants, fewer than 60", len(mutants))
	}
	for _, check := range rules {
		if !slices.ContainsFunc(blinded(), func(m mutant.Mutant) bool { return strings.HasSuffix(m.Before, check+"},") }) {
			t.Errorf("the checker's rule %s has no mutant that is blind for it: name it in blinded()", check)
		}
	}
	seen := map[string]bool{}
	for _, m := range mutants {
		if !name.MatchString(m.Name) || seen[m.Name] || m.Breaks == "" {
			t.Errorf("mutant %q: a name of its own, or what is wrong with it, is missing", m.Name)
		}
		seen[m.Name] = true
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
		if err != nil {
			t.Errorf("mutant %s: %v", m.Name, err)
			continue
		}
		if _, err := m.Change(string(source)); err != nil {
			t.Error(err)
		}
		if m.Invariant != "" && rules[m.Invariant] == "" || len(m.Tests) == 0 && m.Invariant == "" {
			t.Errorf("mutant %s: no tests, or an invariant %q that there is not", m.Name, m.Invariant)
		}
		for _, folder := range m.Tests {
			if tests, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go")); len(tests) == 0 {
				t.Errorf("mutant %s: %s has no tests", m.Name, folder)
			}
		}
	}
}

// invariants are the names of the invariants of chaos, as the checker and the
// trials list them, with the functions that check them.
func invariants(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, path := range []string{"infra/local/internal/invariant/check.go", "shared/delivery/trial/world.go", "shared/orders/trial/rules.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok || c.Type != nil || len(c.Elts) != 3 {
				return true
			}
			text, isText := valueOf(c.Elts[0]).(*ast.BasicLit)
			check := valueOf(c.Elts[2])
			if method, ok := check.(*ast.SelectorExpr); ok {
				check = method.Sel
			}
			if function, isName := check.(*ast.Ident); isText && isName {
				if name, err := strconv.Unquote(text.Value); err == nil {
					names[name] = function.Name
				}
			}
			return true
		})
	}
	if names["accepted"] == "" || names["flights"] == "" || names["money"] == "" {
		t.Fatal("the invariants are listed in another way")
	}
	return names
}

// valueOf returns the value of an element, with a key or without.
func valueOf(e ast.Expr) ast.Expr {
	if pair, ok := e.(*ast.KeyValueExpr); ok {
		return pair.Value
	}
	return e
}
