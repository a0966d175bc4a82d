package bicep_test

import (
	"strings"
	"testing"
)

// TestExpressions evaluates expressions beside a storage account st.
func TestExpressions(t *testing.T) {
	const around = `
resource st 'Microsoft.Storage/storageAccounts@2024-01-01' = { name: 'st1' }
resource off 'Microsoft.Storage/storageAccounts@2024-01-01' = if (false) { name: 'st2' }
resource kept 'Microsoft.Storage/storageAccounts@2024-01-01' existing = { name: st.name }
func twice(s string, n int) string => '${s}${s}${n}'
var one = 1
var list = [3, 1, 2]
var deep = { a: { b: [{ c: 'x' }] }, n: null }
output used array = [kept.id, off.id, twice('a', 1), one, list, deep]
var v = `
	for expression, want := range map[string]string{
		// literals and strings
		`null`: `null`, `true`: `true`, `-5`: `-5`, `'a\'b\\\n\t\${\u{1F600}'`: `"a'b\\\n\t${😀"`,
		"'''\nfirst\n  'second' ${one}''''": `"first\n  'second' ${one}'"`,
		`'${one}-${'x${true}'}'`:            `"1-xTrue"`,
		"'''\r\na'''":                       `"a"`, "'${{ a: '}' }.a}{}'": `"}{}"`,
		// comments
		"/* a\n * } */ 1 // b\n": `1`, "1\n  #disable-next-line no-unused-vars\nvar unused = 2\noutput u int = unused": `1`,
		// operators, by precedence
		`1 + 2 * 3 - 4 / 2 % 3`: `5`, `true || false && false`: `true`, `1 <= 1 && !(1 < 1) && 1 >= 1 && !(1 > 1)`: `true`, `!false && 1 < 2 || false`: `true`, `1 == 1 != false`: `true`,
		`'ABC' =~ 'abc'`: `true`, `'b' > 'a'`: `true`, `null ?? 'd'`: `"d"`, `true ? 1 : false ? 2 : 3`: `1`,
		"one == 2\n  ? 'a'\n  : 'b'": `"b"`, `(1 + 2) * 3`: `9`, `-one`: `-1`,
		`[1] == [1] && { a: 1 } == { a: 1 }`: `true`, `{ a: 1 } == { a: 2 }`: `false`,
		// access
		`deep.a.b[0].c`: `"x"`, `deep['a'].b[^1]['c']`: `"x"`, `deep.?z.?y`: `null`, `deep.a.b[?7]`: `null`, `deep.n.?x`: `null`,
		`deep.a!.b`: `[{"c":"x"}]`,
		// objects and arrays
		`{ 'k-${one}': 1, ...{ l: 2 } }`:       `{"k-1":1,"l":2}`,
		"[\n  1\n  ...list\n  2, 3\n]":         `[1,3,1,2,2,3]`,
		`[for (x, i) in list: { x: x, i: i }]`: `[{"i":0,"x":3},{"i":1,"x":1},{"i":2,"x":2}]`,
		// functions
		`concat([1], [2, 3])`: `[1,2,3]`, `concat('a', 'b')`: `"ab"`, `contains(list, 2)`: `true`, `contains('abc', 'b')`: `true`,
		`contains({ a: 1 }, 'a')`: `true`, `empty('')`: `true`, `empty(null)`: `true`, `empty(list)`: `false`, `length(deep)`: `2`,
		`toLower('AB')`: `"ab"`, `toUpper('ab')`: `"AB"`, `take('abc', 2)`: `"ab"`, `take(list, 9)`: `[3,1,2]`, `skip(list, 1)`: `[1,2]`,
		`format('{0}-{1}{{', 'a', 1)`: `"a-1{"`, `replace('a-a', '-', '')`: `"aa"`, `split('a,b;c', [',', ';'])`: `["a","b","c"]`,
		`join(['a', 'b'], '/')`: `"a/b"`, `substring('abcd', 1, 2)`: `"bc"`, `padLeft('7', 3, '0')`: `"007"`, `trim(' a ')`: `"a"`,
		`startsWith('Abc', 'a')`: `true`, `endsWith('abC', 'c')`: `true`, `indexOf('abc', 'C')`: `2`, `indexOf(list, 2)`: `2`, `lastIndexOf('aba', 'a')`: `2`,
		`string(1)`: `"1"`, `string({ a: [1] })`: `"{\"a\":[1]}"`, `int('12')`: `12`, `int(7)`: `7`, `bool('true')`: `true`, `bool(0)`: `false`, `bool('0')`: `false`, `bool(true)`: `true`, `json('{"a": [1, 0.5]}').a`: `[1,0.5]`,
		`min(3, 1)`: `1`, `first('')`: `""`, `first([])`: `null`, `array([1])`: `[1]`, `coalesce(null)`: `null`, `max(list)`: `3`, `first(list)`: `3`, `last('abc')`: `"c"`, `range(2, 3)`: `[2,3,4]`, `array(1)`: `[1]`,
		`items({ b: 1, a: 2 })`: `[{"key":"a","value":2},{"key":"b","value":1}]`, `objectKeys({ b: 1, a: 2 })`: `["a","b"]`,
		`union({ a: { b: 1, c: 1 } }, { a: { c: 2 }, d: 3 })`: `{"a":{"b":1,"c":2},"d":3}`, `union([1], [1, 2])`: `[1,2]`,
		`intersection([1, 2], [2, 3])`: `[2]`, `flatten([[1], [2]])`: `[1,2]`, `coalesce(null, 1)`: `1`,
		`base64('ab')`: `"YWI="`, `base64ToString('YWI=')`: `"ab"`, `uri('https://a/b/', 'c')`: `"https://a/b/c"`, `uriComponent('a b')`: `"a%20b"`,
		`guid('a', 'b') == guid('a', 'b')`: `true`, `guid('a') == guid('b')`: `false`, `length(uniqueString('a'))`: `13`,
		// lambdas
		`map(list, (x, i) => x * 10 + i)`: `[30,11,22]`, `filter(list, x => x > 1)`: `[3,2]`, `reduce(list, 0, (a, x) => a + x)`: `6`,
		`sort(list, (a, b) => a < b)`: `[1,2,3]`, `toObject(list, x => 'k${x}', x => x + 1)`: `{"k1":2,"k2":3,"k3":4}`,
		`toObject(['a'], x => x)`: `{"a":"a"}`, `mapValues({ a: 1 }, x => x + 1)`: `{"a":2}`, `groupBy(list, x => x > 1 ? 'b' : 'a')`: `{"a":[1],"b":[3,2]}`,
		`twice('ab', 3)`: `"abab3"`, `sys.concat('a', 'b')`: `"ab"`, `map(list, one => one)`: `[3,1,2]`,
		// scopes and ids
		`resourceGroup().name`: `"rg"`, `az.resourceGroup().id`: `"/subscriptions/sub/resourceGroups/rg"`, `resourceGroup().location`: `"westeurope"`,
		`subscription().subscriptionId`: `"sub"`, `tenant().tenantId`: `"tenant"`, `environment().suffixes.storage`: `"core.windows.net"`,
		`st.id`: `"/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/st1"`,
		`resourceId('Microsoft.Storage/storageAccounts', 'st1') == st.id && kept.id == st.id`: `true`,
		`resourceId('s', 'g', 'A.B/c/d', 'x', 'y')`:                                           `"/subscriptions/s/resourceGroups/g/providers/A.B/c/x/d/y"`,
		`subscriptionResourceId('A.B/c', 'x')`:                                                `"/subscriptions/sub/providers/A.B/c/x"`,
		`extensionResourceId(st.id, 'A.B/c', 'x') == '${st.id}/providers/A.B/c/x'`:            `true`,
		`[st.name, st.type, st.apiVersion]`:                                                   `["st1","Microsoft.Storage/storageAccounts","2024-01-01"]`,
		// what only the deployment knows
		`[newGuid(), deployer().objectId, split(st.kind, ','), json(st.kind)]`: `["<newGuid()>","<deployer.objectId>","<split(<Microsoft.Storage/storageAccounts/st1.kind>,,)>","<json(<Microsoft.Storage/storageAccounts/st1.kind>)>"]`,
		`listKeys('x', '1').keys[0].value`:                                     `"<listKeys(x,1).keys[0].value>"`, `'a${st.kind}'.b`: `"<(a<Microsoft.Storage/storageAccounts/st1.kind>).b>"`,
		`deployment().name`: `"<deployment.name>"`, `resourceGroup('other').location`: `"<Microsoft.Resources/resourceGroups/other.location>"`,
		`resourceGroup('s', 'g').id`: `"/subscriptions/s/resourceGroups/g"`, `subscription('s').id`: `"/subscriptions/s"`, `tenantResourceId('A.B/c', 'x')`: `"/providers/A.B/c/x"`,
		`subscriptionResourceId('s', 'A.B/c', 'x')`: `"/subscriptions/s/providers/A.B/c/x"`, `resourceId('g', 'A.B/c', 'x')`: `"/subscriptions/sub/resourceGroups/g/providers/A.B/c/x"`,
		`st.properties.primaryEndpoints.blob`:  `"<Microsoft.Storage/storageAccounts/st1.properties.primaryEndpoints.blob>"`,
		`kept.properties.a == st.properties.a`: `true`, `st.properties.a == null`: `false`,
		`'${st.properties.a}x'`:          `"<Microsoft.Storage/storageAccounts/st1.properties.a>x"`,
		`toLower('${st.properties.a}x')`: `"<toLower(<Microsoft.Storage/storageAccounts/st1.properties.a>x)>"`,
		`st.listKeys('v').keys[0].value`: `"<Microsoft.Storage/storageAccounts/st1.listKeys(v).keys[0].value>"`,
		`concat('a', st.kind)`:           `"a<Microsoft.Storage/storageAccounts/st1.kind>"`,
		`join([st.kind], ',')`:           `"<Microsoft.Storage/storageAccounts/st1.kind>"`,
		`string({ a: st.kind })`:         `"{\"a\":\"<Microsoft.Storage/storageAccounts/st1.kind>\"}"`,
	} {
		t.Run(expression, func(t *testing.T) {
			d, problem := deploy(t, map[string]string{"main.bicep": around + expression + "\noutput v array = [v]\n"}, nil)
			if problem != "" {
				t.Fatal(problem)
			}
			got := asJSON(t, d.Outputs["v"].([]any)[0])
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestFaults holds the message and the place of what is wrong in an expression.
func TestFaults(t *testing.T) {
	for expression, want := range map[string]string{
		`'it''s'`: `main.bicep:4:13: the line should end here, before a string`, `'a`: "the string is not closed on its line", `'\q'`: "there is no such escape sequence",
		`'a${1'`: "is not closed", `1 +`: "a value is expected here, not the end of the line", `[1 2]`: "',' or a new line is expected here, not '2'",
		`1 + 'a'`: "'+' does not take a number and a string", `!1`: "'!' does not take a number", `1 / 0`: "division by zero",
		`nothing`: "main.bicep:4:9: there is no nothing", `nothing()`: "there is no function nothing", `toLower()`: "toLower does not take 0 arguments",
		`true ? 1 : nothing`: "there is no nothing", `map([], x => y)`: "there is no y", `st.foo()`: "there is no method foo",
		`{ a: 1 }.b`: "the object has no b", `[1][1]`: "the array of 1 has no item 1", `null!`: "this is null", `{ a: 1, a: 2 }`: "the property a is there twice",
		`st.properties.a == 'x'`: "is decided by the deployment", `bool('yes')`: "yes is no bool", `min([])`: "there are no items", `max(['a'])`: "a string is no int", `contains(1, 2)`: "a number contains nothing",
		`toUpper(1)`: "argument 1 must be a string, not a number", `range('a', 1)`: "argument 1 must be an int", `map(1, x => x)`: "argument 1 must be an array", `items(1)`: "argument 1 must be an object",
		`map([1], (a, b, c) => a)`: "the lambda takes 3 parameters", `'a' =~ 1`: "does not take", `'a' && true`: "a bool is expected here", `st.id.x`: "a string has no x", `subscription().x`: "has no x that is known here",
		`{ ...1 }`: "an object is expected here", `[...1]`: "an array is expected here", `true::x`: "a bool has no nested resource x", `[1]['a']`: "an array has no a", `1[0]`: "a number has no items", `[1][true]`: "an index is a number or a string",
		`base64ToString('!')`: "illegal base64", `flatten([1])`: "an item is a number", `substring('a', 2, 1)`: "has no 1 characters from 2", `'${[1]}'`: "an array has no text",
		`empty(st.properties.a)`:  "the length of what only the deployment knows",
		`st.properties.a ? 1 : 2`: "a bool is expected here, not what only the deployment knows", `off.properties.x`: "the resource off is not deployed",
		`[for x in st.properties.a: x]`: "an array is expected here", `range(0, 100000)`: "is no number of items", `int('x')`: "x is no int",
		`json('{')`: "unexpected EOF", `format('{0}')`: "there is no argument {0}", `format('{0:D2}', 1)`: "a format that is not known", `fail('no way')`: "fail: no way",
		`resourceId('A.B/c', 'x', 'y')`: "does not fit the type", `loadTextContent('none.txt')`: "none.txt", `loadTextContent('${st.name}')`: "the path must be a constant",
		`st`: "the resource st can't be a value here", `1 #disable-next-line x`: "has no meaning here", "[\n#region x\n]": "has no meaning here", `99999999999999999999`: "is no 64-bit number", `"a"`: `'"' has no meaning here`,
		`map([1], 2)`: "argument 2 must be a lambda", `filter([1], x => 1)`: "the lambda must give a bool", `loadYamlContent('a')`: "there is no function loadYamlContent",
		"1\n+ 2": "a name is expected here, not '+'", strings.Repeat("[", 300): "nested more than 200 deep", `/* x`: "the comment is not closed",
		`f(1)`: "f of f is a number, not of type string", `f()`: "f takes 1 arguments, not 0",
	} {
		t.Run(expression, func(t *testing.T) {
			_, problem := deploy(t, map[string]string{"main.bicep": `resource st 'Microsoft.Storage/storageAccounts@2024-01-01' = { name: 'st1' }
resource off 'Microsoft.Storage/storageAccounts@2024-01-01' = if (false) { name: 'st2' }
func f(f string) string => f
var v = ` + expression + `
output o object = { v: v, used: [st.id, off.id, f('')] }
`}, nil)
			if !strings.Contains(problem, want) {
				t.Errorf("got %q, want %q", problem, want)
			}
		})
	}
}
