package bicep_test

import (
	"testing"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

// FuzzDeclarations holds that the parser ends, without a panic, on any text,
// and that a position is given when it refuses one.
func FuzzDeclarations(f *testing.F) {
	for _, text := range system {
		f.Add(text)
	}
	for _, text := range []string{
		"", "'", "'${", "'${'${'", "'''", "'''''''", "[for", "a =>", "(a, b) =>", "{ ...", "param a {", "@a(", "type t = -", "var v = !-+1",
		"import", "resource a 'b' = { resource c 'd' = {", "var a = b[^1].?c::d!", "/*", "#x", "\\", "\xff", "var v = a ?\n b\n :\n c", "var v = 'a' 'b'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := bicep.Declarations("f.bicep", text); err != nil {
			at, ok := err.(*bicep.Error)
			if !ok || at.Line < 1 || at.Column < 1 || at.Message == "" {
				t.Errorf("%q: no position in %v", text, err)
			}
		}
	})
}

// FuzzDeploy holds the same of the checks and the evaluator: whatever a file
// says, it deploys or there is an error.
func FuzzDeploy(f *testing.F) {
	for _, text := range []string{
		"param a int = 1\nvar v = [for (x, i) in range(0, a): { '${x}': i, ...{ b: x } }]\noutput o array = v\n",
		"resource a 'A.B/c@1' = { name: 'x', p: a.id\n resource b 'd' = { name: 'y' } }\noutput o string = a::b.properties.z\n",
		"module m 'm.bicep' = if (true) { params: { a: 'x' } }\noutput o string = m.?outputs.o ?? 'n'\n",
		"func f(a string) string => toUpper(a)\noutput o string = f(take('abc', 2))\noutput p int = length(split('a,b', ','))\n",
		"import { v, t as u } from 'm.bicep'\nimport * as m from 'm.bicep'\nparam p u = 1\noutput o array = [v, m.v, p]\n",
		"output o array = map(filter([1, 2], x => x > 1), (x, i) => format('{0}', x + i))\nmetadata m = 1\n",
		"output o object = toObject(['a'], x => x, x => sort([2, 1], (a, b) => a < b))\noutput p string = '${[1][0]}${{ a: 1 }.a}'\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		deploy(t, map[string]string{
			"main.bicep": text, "m.bicep": "param a string = ''\n@export()\nvar v = 1\n@export()\ntype t = int\noutput o string = a\n",
		}, nil)
	})
}
