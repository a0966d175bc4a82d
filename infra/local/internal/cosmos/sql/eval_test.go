package sql

import "testing"

const sample = `{
	"id": "a", "n": 5, "f": 2.5, "s": "Hello", "t": true, "z": null,
	"list": [1, "two", {"k": 1, "m": 2}], "sub": {"deep": {"x": 1}}, "zip code": "98", "value": 7
}`

// Ensure the three-valued logic of the language: the table gives the JSON text
// of each expression's value, empty for Undefined.
func TestExpressions(t *testing.T) {
	row := decode(t, sample)
	params := map[string]Value{"@n": NumberValue(5), "@list": decode(t, `["a","b"]`), "@nothing": {}}
	for _, tc := range []struct{ text, want string }{
		{`c.n`, `5`}, {`c.f`, `2.5`}, {`c.missing`, ``}, {`c.sub.deep.x`, `1`}, {`c.s.length`, ``},
		{`c["zip code"]`, `"98"`}, {`c["value"]`, `7`}, {`c.list[1]`, `"two"`}, {`c.list[9]`, ``}, {`c.sub[0]`, ``},
		{`'it\'s'`, `"it's"`}, {`"\u00fc\ud83d\ude00"`, `"ü😀"`}, {`-1.5e2`, `-150`}, {`undefined`, ``}, {`@n`, `5`}, {`@nothing`, ``},
		{`[1, c.missing, c.n]`, `[1,5]`}, {`{"a": c.n, b: c.missing}`, `{"a":5}`},

		{`c.n = 5`, `true`}, {`c.n = 5.0`, `true`}, {`c.n = "5"`, ``}, {`c.n != "5"`, ``}, {`c.n <> 4`, `true`},
		{`c.missing = 1`, ``}, {`c.missing != 1`, ``}, {`c.missing = undefined`, ``}, {`c.z = null`, `true`}, {`c.z != null`, `false`},
		{`c.z = 0`, ``}, {`c.z < 1`, ``}, {`c.s < "World"`, `true`}, {`c.s >= "hello"`, `false`}, {`c.t > false`, `true`},
		{`c.list = [1, "two", {"m": 2, "k": 1}]`, `true`}, {`c.list < [2]`, ``}, {`c.sub = {"deep": {"x": 1.0}}`, `true`},

		{`c.t AND c.n = 5`, `true`}, {`c.missing AND true`, ``}, {`c.missing AND false`, `false`}, {`c.n AND true`, ``},
		{`c.missing OR true`, `true`}, {`c.missing OR false`, ``}, {`false OR false`, `false`},
		{`NOT c.t`, `false`}, {`NOT c.missing`, ``}, {`NOT c.n`, ``}, {`NOT NOT c.t`, `true`}, {`NOT NOT c.n`, ``},
		{`NOT (c.missing = 1)`, ``}, {`NOT c.n = 4 AND true`, `true`}, {`true OR false AND false`, `true`},

		{`c.n IN (1, 5)`, `true`}, {`c.n IN (1, 2)`, `false`}, {`c.n IN (1, "5")`, ``}, {`c.n NOT IN (1, 2)`, `true`},
		{`c.missing IN (1)`, ``}, {`c.n NOT IN (1, "5")`, ``}, {`c.n BETWEEN 1 AND 5`, `true`}, {`c.n NOT BETWEEN 6 AND 7`, `true`},
		{`c.n BETWEEN "a" AND "z"`, ``}, {`c.missing BETWEEN 1 AND 2`, ``},

		{`c.n + 1 * 2`, `7`}, {`(c.n + 1) * 2`, `12`}, {`c.n / 2`, `2.5`}, {`c.n % 3`, `2`}, {`c.n / 0`, ``}, {`c.s + 1`, ``},
		{`-c.n`, `-5`}, {`- -c.n`, `5`}, {`+3`, `3`}, {`-c.s`, ``}, {`1-1`, `0`},

		{`IS_DEFINED(c.n)`, `true`}, {`IS_DEFINED(c.z)`, `true`}, {`is_defined(c.missing)`, `false`},
		{`IS_NULL(c.z)`, `true`}, {`IS_NULL(c.missing)`, `false`}, {`IS_NUMBER(c.n)`, `true`}, {`IS_STRING(c.n)`, `false`},
		{`IS_ARRAY(c.list)`, `true`}, {`IS_OBJECT(c.sub)`, `true`}, {`IS_BOOL(c.t)`, `true`}, {`IS_PRIMITIVE(c.sub)`, `false`},
		{`STARTSWITH(c.s, "He")`, `true`}, {`STARTSWITH(c.s, "he")`, `false`}, {`STARTSWITH(c.s, "he", true)`, `true`},
		{`STARTSWITH(c.n, "5")`, ``}, {`STARTSWITH(c.missing, "x")`, ``}, {`NOT STARTSWITH(c.missing, "x")`, ``},
		{`CONTAINS(c.s, "ell")`, `true`}, {`ENDSWITH(c.s, "lo")`, `true`}, {`STRINGEQUALS(c.s, "HELLO", true)`, `true`},
		{`LENGTH(c.s)`, `5`}, {`LOWER(c.s)`, `"hello"`}, {`UPPER(c.s)`, `"HELLO"`}, {`ABS(-2)`, `2`}, {`FLOOR(c.f)`, `2`}, {`CEILING(c.f)`, `3`},
		{`ARRAY_LENGTH(c.list)`, `3`}, {`ARRAY_LENGTH(c.s)`, ``}, {`ARRAY_CONTAINS(c.list, 1)`, `true`},
		{`ARRAY_CONTAINS(c.list, "2")`, `false`}, {`ARRAY_CONTAINS(c.list, {"k": 1})`, `false`},
		{`ARRAY_CONTAINS(c.list, {"k": 1}, true)`, `true`}, {`ARRAY_CONTAINS(c.s, 1)`, ``}, {`ARRAY_CONTAINS(@list, c.id)`, `true`},
		{`ARRAY_CONTAINS(c.list, c.missing)`, ``},
	} {
		q := mustParse(t, "SELECT VALUE "+tc.text+" FROM c", params)
		v, ok := q.Project(row)
		if got := string(AppendJSON(nil, v)); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s = %q, want %q", tc.text, got, tc.want)
		}
	}
}

// Ensure that only true passes a filter.
func TestMatches(t *testing.T) {
	row := decode(t, sample)
	for filter, want := range map[string]bool{
		`c.n = 5`: true, `c.n = 4`: false, `c.missing = 4`: false, `NOT (c.missing = 4)`: false, `c.missing != 4`: false,
		`c.n`: false, `c.t`: true, `c.z`: false, `1`: false,
	} {
		if got := mustParse(t, "SELECT * FROM c WHERE "+filter, nil).Matches(row); got != want {
			t.Errorf("WHERE %s: %v, want %v", filter, got, want)
		}
	}
	if !mustParse(t, "select * from c", nil).Matches(row) {
		t.Error("a query without a filter refused a row")
	}
}

func TestProject(t *testing.T) {
	row := decode(t, `{"id":"a","n":5,"sub":{"x":1},"list":[7]}`)
	for text, want := range map[string]string{
		`SELECT * FROM c`:                                `{"id":"a","n":5,"sub":{"x":1},"list":[7]}`,
		`SELECT VALUE c FROM c`:                          `{"id":"a","n":5,"sub":{"x":1},"list":[7]}`,
		`SELECT VALUE r.sub FROM root r`:                 `{"x":1}`,
		`SELECT c.id, c.n AS number FROM c`:              `{"id":"a","number":5}`,
		`SELECT c.sub.x, c.list[0], c.n + 1 FROM c`:      `{"x":1,"$1":7,"$2":6}`,
		`SELECT c.missing, c.id i FROM c`:                `{"i":"a"}`,
		`SELECT c.missing FROM c`:                        `{}`,
		`SELECT d FROM docs AS d`:                        `{"d":{"id":"a","n":5,"sub":{"x":1},"list":[7]}}`,
		`SELECT c["sub"]["x"] AS y, 'k' AS k FROM c`:     `{"y":1,"k":"k"}`,
		"SELECT c.id -- the id\nFROM c -- no more":       `{"id":"a"}`,
		`SELECT VALUE {"id": c.id, "all": [c.n]} FROM c`: `{"id":"a","all":[5]}`,
	} {
		v, ok := mustParse(t, text, nil).Project(row)
		if got := string(AppendJSON(nil, v)); !ok || got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
	if v, ok := mustParse(t, "SELECT VALUE c.missing FROM c", nil).Project(row); ok {
		t.Errorf("VALUE of a missing path gives %s", AppendJSON(nil, v))
	}
}
