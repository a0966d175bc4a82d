package invariant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// saying is a place in the rules that finds a violation: what it says, and the
// format of the detail.
type saying struct{ what, format string }

// placesOf returns every place that finds violations, with its file and line.
func placesOf(t *testing.T) map[saying]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("../../../../shared/delivery/trial/*.go")
	if err != nil || len(own) == 0 {
		t.Fatalf("no rules of the business: %v", err)
	}
	files = append(files, own...)
	places := map[saying]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			if method, ok := call.Fun.(*ast.SelectorExpr); !ok || method.Sel.Name != "Broken" || len(call.Args) == 0 {
				return true
			}
			at := set.Position(call.Pos()).String()
			var texts [2]string
			for i := range texts {
				literal, ok := call.Args[1+i].(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s: not written out, so that no test can tell it from others", at)
				}
				if texts[i], err = strconv.Unquote(literal.Value); err != nil {
					t.Fatal(err)
				}
			}
			place := saying{texts[0], texts[1]}
			if other, taken := places[place]; taken {
				t.Errorf("%s says the same as %s: %q", at, other, place)
			}
			places[place] = at
			return true
		})
	}
	return places
}

// Ensure there is a broken snapshot for each rule, and for each place in a rule
// that finds something: a place that no case reaches may be wrong, or gone, and
// nobody would know.
func TestEveryPlaceFindsSomething(t *testing.T) {
	for _, rule := range check(scene{}).Invariants {
		if !slices.ContainsFunc(breakages, func(b breakage) bool { return b.rule == rule.Name }) {
			t.Errorf("nothing breaks %s", rule.Name)
		}
	}
	found := map[saying]bool{}
	for _, b := range breakages {
		s := valid(t)
		b.do(&s)
		for _, i := range check(s).Invariants {
			for _, v := range i.Violations {
				if i.Name == b.rule && v.What == b.what && v.ID == b.id {
					found[saying{v.What, v.Said}] = true
				}
			}
		}
	}
	places := placesOf(t)
	if len(places) < len(rules) {
		t.Errorf("%d places in the source", len(places))
	}
	for place, at := range places {
		if !found[place] {
			t.Errorf("%s: no broken snapshot is found here: %q", at, place)
		}
	}
}
