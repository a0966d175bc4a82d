package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/facade"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// backendProblems are the types that only backends answer with.
var backendProblems = []problem.Type{
	record.OwnedByAnother, record.StaleRevision, record.OtherContent, record.CannotUndo, facade.KeyExpired,
	drone.NoDroneFree, drone.TooHeavy, deliveries.NotConfirmable, deliveries.Arrived, deliveries.TooMany,
}

func problemsDocument() string {
	var b strings.Builder
	b.WriteString(`# Problem types

Every refusal is a problem document (RFC 9457). Its
` + "`type`" + ` is one of these short references; a client may depend on them and on the
status, not on titles and details. ` + "`errors`" + ` lists faults of the body with their
JSON pointers. Retry-After says when to repeat, if repeating makes sense.

The workflow takes a backend's 4xx as a verdict only with such a document and a
` + "`type` other than `about:blank`: 401, 408, 429, `forbidden`" + ` and every 4xx
without such a document are repeated later.

| type | status | title |
|---|---|---|
`)
	list := func(types []problem.Type) {
		for _, t := range types {
			fmt.Fprintf(&b, "| `%s` | %d | %s |\n", t.ID, t.Status, t.Title)
		}
	}
	list(problem.Types)
	b.WriteString("\nThe backends add these:\n\n| type | status | title |\n|---|---|---|\n")
	list(backendProblems)
	return b.String()
}

// TestProblemsDocument holds docs/problems.md to the code. UPDATE=1 writes it.
func TestProblemsDocument(t *testing.T) {
	const path = "../docs/problems.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(problemsDocument()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(problemsDocument(), string(have)); diff != "" {
		t.Errorf("run UPDATE=1 go test ./handlers (-want +got):\n%s", diff)
	}
}

// TestEveryProblemTypeIsListed finds the types in the sources of the backends.
func TestEveryProblemTypeIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, p := range backendProblems {
		listed[p.ID] = true
	}
	found := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if selector, ok := literal.Type.(*ast.SelectorExpr); !ok || selector.Sel.Name != "Type" {
				return true
			}
			for _, element := range literal.Elts {
				pair, ok := element.(*ast.KeyValueExpr)
				if !ok || pair.Key.(*ast.Ident).Name != "ID" {
					continue
				}
				found++
				if id := strings.Trim(pair.Value.(*ast.BasicLit).Value, `"`); !listed[id] {
					t.Errorf("%s: the problem type %s is not in docs/problems.md", path, id)
				}
			}
			return true
		})
		return nil
	}
	err := errors.Join(filepath.WalkDir("../shared/record", look), filepath.WalkDir("../shared/facade", look), filepath.WalkDir("../shared/delivery", look))
	if err != nil || found != len(backendProblems) {
		t.Errorf("%d types found, %d listed, %v", found, len(backendProblems), err)
	}
}

// Ensure that whatever the app refuses for a backend is a problem document of a
// type: without one the workflow takes it for a platform's answer, and repeats.
func TestRefusalsOfBackendsAreTheirWord(t *testing.T) {
	w, refused := newWorld(t), map[int]bool{}
	for _, f := range w.app.functions {
		if !slices.Contains(f.roles, auth.Scheduler) {
			continue
		}
		for _, e := range f.endpoints {
			path := routePrefix + "/" + variable.ReplaceAllString(e.path, "x")
			for name, call := range map[string]struct{ method, path, body string }{
				"no such path":   {e.method, path + "/x/x/x", ""},
				"no such method": {http.MethodTrace, path, ""},
				"no such id":     {e.method, strings.Replace(path, "/x", "/a%20b", 1), "{}"},
				"no JSON":        {e.method, path, "{"},
				"too large":      {e.method, path, large},
			} {
				resp, data := w.call(call.method, call.path, call.body, by("transaction-1", 1)...)
				if resp.StatusCode < 400 {
					continue // this one does not read what is odd here
				}
				refused[resp.StatusCode] = true
				var p problem.Problem
				if err := json.Unmarshal(data, &p); err != nil || p.Type == "" || p.Type == "about:blank" ||
					resp.Header.Get("Content-Type") != problem.ContentType {
					t.Errorf("%s %s, %s: %d %s %s", call.method, call.path, name, resp.StatusCode, resp.Header.Get("Content-Type"), data)
				}
			}
		}
	}
	for _, status := range []int{400, 404, 405, 413} {
		if !refused[status] {
			t.Errorf("nothing was answered %d", status)
		}
	}
}

var variable = regexp.MustCompile(`\{[^}]*\}`)
