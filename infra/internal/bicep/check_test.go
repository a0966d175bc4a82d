package bicep_test

import (
	"strings"
	"testing"
)

// TestChecks holds what is refused in files without any value.
func TestChecks(t *testing.T) {
	const module = "param a string\nparam b int = 1\noutput o string = '${a}${b}'\n"
	const st = "resource st 'A.B/c@1' = { name: 'x' }\n"
	for main, want := range map[string]string{
		"param a string\n":    "main.bicep:1:7: the param a is not used",
		"var a = 1\n":         "the var a is not used",
		"type a = string\n":   "the type a is not used",
		"func a() int => 1\n": "the func a is not used",
		"resource a 'A.B/c@1' existing = { name: 'x' }\n":                                                                "the resource a is not used",
		"import { gone } from 'm.bicep'\n":                                                                               "m.bicep does not export gone",
		"import { v } from 'e.bicep'\n":                                                                                  "the import v is not used",
		"import * as e from 'e.bicep'\n":                                                                                 "the import e is not used",
		"import * as e from 'e.bicep'\noutput o int = e.w\n":                                                             "e.bicep does not export w",
		"import * as e from 'e.bicep'\noutput o int = e.f()\n":                                                           "e.bicep does not export f",
		"var a = 1\nparam a int\noutput o int = a\n":                                                                     "main.bicep:2:7: a is declared twice",
		"type a = int\nparam a a\noutput o int = a\n":                                                                    "main.bicep:2:7: a is declared twice",
		"param a strin\noutput o string = a\n":                                                                           "there is no type strin",
		"@secret()\nparam a string\noutput o string = a\n":                                                               "there is no decorator @secret of a param",
		"var a = b\nvar b = a\noutput o int = a\n":                                                                       "a needs itself: a needs b needs a",
		"func f(a int) int => f(a)\noutput o int = f(1)\n":                                                               "f needs itself",
		"var v = 1\nfunc f(a int) int => a + v\noutput o int = f(v)\n":                                                   "a function knows its parameters alone, not v",
		"resource a 'A.B/c@1' = { name: b.name }\nresource b 'A.B/c@1' = { name: a.name }\n":                             "a needs itself",
		"module m 'm.bicep' = { params: { a: '', c: 1 } }\n":                                                             "main.bicep:1:41: the module m has no param c",
		"module m 'm.bicep' = { params: { b: 1 } }\n":                                                                    "main.bicep:1:8: the module m lacks the param a",
		"module m 'm.bicep' = { params: { a: '' } }\noutput o string = m.outputs.p\n":                                    "the module m has no output p",
		"module m 'm.bicep' = [for x in ['a']: { params: { a: x } }]\noutput o string = m[0].outputs.p\n":                "the module m has no output p",
		"module m 'gone.bicep' = {}\n":                                                                                   "gone.bicep",
		"module m 'br/public:x:1' = {}\n":                                                                                "only modules of files are read",
		"targetScope = 'managementGroup'\n":                                                                              `main.bicep:1:15: the scope "managementGroup" is not read here`,
		"resource a 'A.B/c@1' = { name: 'x'\n name: 'y' }\n":                                                             "the property name is there twice",
		st + "resource b 'A.B/c@1' = { name: st.properties.x }\n":                                                        "a name must be known when the deployment starts, and st.properties is not",
		st + "var v = st.listKeys().x\nresource b 'A.B/c@1' = if (v == '') { name: 'y' }\n":                              "a condition must be known when the deployment starts, and the result of listKeys is not",
		"module m 'm.bicep' = { params: { a: '' } }\nresource b 'A.B/c@1' = { name: 'x${m.outputs.o}' }\n":               "a name must be known when the deployment starts, and m.outputs is not",
		"module m 'm.bicep' = { params: { a: '' } }\nresource b 'A.B/c@1' = [for i in m.outputs.o: { name: i }]\n":       "what a loop runs over must be known",
		"module m 'm.bicep' = [for x in ['a']: { params: { a: x } }]\nresource b 'A.B/c@1' = { name: m[0].outputs.o }\n": "a name must be known when the deployment starts, and m.outputs is not",
		"var v = { a: [for i in [1]: i] }\noutput o object = v\n":                                                        "main.bicep:1:14: a loop can't stand here",
		"output o array = concat([1], [for i in [1]: i])\n":                                                              "a loop can't stand here",
		"param p array = [for i in [1]: i]\noutput o array = p\n":                                                        "a loop can't stand here",
		"resource a 'A.B/c@1' = { name: 'x', tags: { a: [for i in [1]: [for j in [i]: j]] } }\n":                         "main.bicep:1:63: a loop can't stand here",
		"wat x = 1\n":                         "'wat' begins no statement that is known here",
		"param a string output o int = 1\n":   "the line should end here",
		"extension microsoftGraph\n":          "'extension' begins no statement that is known here",
		"@description('x')\nmetadata a = 1\n": "metadata takes no decorators",
		"resource a 'A.B/c@1' = 'x'\n":        "a body is expected here",
		"param a sys.string\n":                "there is no type sys",
		"param a array<'x'>\n":                "'array' takes no type argument",
	} {
		t.Run(main, func(t *testing.T) {
			_, problem := deploy(t, map[string]string{
				"main.bicep": main, "m.bicep": module, "e.bicep": "@export()\nvar v = 1\nvar w = v\n@export()\nvar x = w\n",
			}, map[string]any{"a": "x"})
			if !strings.Contains(problem, want) {
				t.Errorf("got %q, want %q", problem, want)
			}
		})
	}
}

// TestDeploymentFaults holds what shows only when values are there.
func TestDeploymentFaults(t *testing.T) {
	for main, want := range map[string]string{
		"resource a 'A.B/c@1' = { name: 'x/y' }\n":                                                                                      "does not fit the type A.B/c",
		"resource a 'A.B/c@1' = { name: 'x' }\nresource b 'A.B/c@2' = { name: 'X' }\n":                                                  "main.bicep:2:10: /subscriptions/sub/resourceGroups/rg/providers/A.B/c/X is deployed at",
		"resource a 'A.B/c@1' = { properties: {} }\n":                                                                                   "the resource a has no name",
		"resource a 'A.B/c' = { name: 'x' }\n":                                                                                          "has no API version",
		"resource a 'A.B/c@1' = { name: 'x' }\nresource b 'A.B/d/e@1' = {\n  parent: a\n  name: 'y'\n}\n":                               "the parent of a A.B/d/e can't be a A.B/c",
		"resource a 'A.B/c@1' = { name: 'x' }\nresource b 'A.B/c/e@1' = {\n  parent: a\n  name: 'x/y'\n}\n":                             "has a slash, and there is a parent",
		"module m 'm.bicep' = { params: { a: 1 } }\n":                                                                                   "the param a is a number, not of type string",
		"module m 'm.bicep' = {\n  scope: subscription()\n  params: { a: '' }\n}\n":                                                     "the module m is for a resourceGroup, and its scope is a subscription",
		"module m 'm.bicep' = if (1 == 2) { params: { a: '' } }\noutput o string = m.outputs.o\n":                                       "the module m is not deployed",
		"resource a 'A.B/c@1' = { name: 'x', tags: { v: a2.x } }\nresource a2 'A.B/c@1' = if (1 == 2) { name: 'y' }\n":                  "the resource a2 is not deployed",
		"module m 'm.bicep' = {\n  name: 'm'\n  params: { a: '' }\n}\nmodule n 'm.bicep' = {\n  name: 'm'\n  params: { a: '' }\n}\n":    "the name \"m\" of the module's deployment is that of the module at",
		"module m 'm.bicep' = {\n  name: '" + strings.Repeat("m", 65) + "'\n  params: { a: '' }\n}\n":                                   "is longer than 64",
		"var r = range(0, 9999)\noutput o array = map(r, x => map(r, y => x + y))\n":                                                    "this takes more than 2000000 steps",
		"targetScope = 'subscription'\noutput o string = resourceGroup().name\n":                                                        "a file for a subscription is in no resource group",
		"resource a 'A.B/c@1' = if (1 == 2) {\n  name: 'x'\n  resource b 'd' = { name: 'y' }\n}\noutput o string = a::b.properties.z\n": "the resource b is not deployed",
		"output o int = 'x'\n":                                   "the output o is a string, not of type int",
		"@maxValue(2)\nparam a int = 3\noutput o int = a\n":      "the param a is 3; @maxValue is 2",
		"param a 'x' | 'y' = 'z'\noutput o string = a\n":         "the param a is z; allowed: x, y",
		"output o [int, string] = [1]\n":                         "has 1 items, not 2",
		"output o { *: int } = { a: 'x' }\n":                     "has a a that is a string",
		"resource a 'A.B/c@1' = { name: 'x', dependsOn: 'y' }\n": "an array is expected here",
	} {
		t.Run(main, func(t *testing.T) {
			_, problem := deploy(t, map[string]string{"main.bicep": main, "m.bicep": "param a string\noutput o string = a\n"}, nil)
			if !strings.Contains(problem, want) {
				t.Errorf("got %q, want %q", problem, want)
			}
		})
	}
}
