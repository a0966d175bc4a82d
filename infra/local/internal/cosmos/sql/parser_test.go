package sql

import (
	"errors"
	"strings"
	"testing"
)

// refusedQueries are texts with the code and the place of their error.
var refusedQueries = []struct {
	text         string
	code         string
	line, column int
}{
	{``, codeEnd, 1, 1},
	{`SELECT`, codeEnd, 1, 7},
	{`SELEC * FROM c`, codeSyntax, 1, 1},
	{`SELECT * FRM c`, codeSyntax, 1, 10},
	{`SELECT * FROM c WHERE`, codeEnd, 1, 22},
	{`SELECT * FROM c WHERE c.n = `, codeEnd, 1, 29},
	{`SELECT * FROM c WHERE c.n == 1`, codeSyntax, 1, 28},
	{`SELECT * FROM c WHERE (c.n = 1`, codeEnd, 1, 31},
	{"SELECT *\nFROM c\nWHERE c.n = = 1", codeSyntax, 3, 13},
	{`SELECT * FROM c WHERE c.Group = 1`, codeSyntax, 1, 25},
	{`SELECT c.value FROM c`, codeSyntax, 1, 10},
	{`SELECT * FROM c garbage more`, codeSyntax, 1, 25},
	{`SELECT * FROM c; DROP`, codeToken, 1, 16},
	{`SELECT * FROM c WHERE c.s = 'open`, codeToken, 1, 29},
	{`SELECT * FROM c WHERE c.n = 1x`, codeToken, 1, 29},
	{`SELECT * FROM c WHERE c.n = 1e`, codeToken, 1, 29},
	{`SELECT * FROM c WHERE c.s = 'a\q'`, codeToken, 1, 31},
	{`SELECT * FROM c WHERE c.n IN ()`, codeSyntax, 1, 31},
	{`SELECT * FROM c WHERE c.n BETWEEN 1`, codeEnd, 1, 36},
	{`SELECT * FROM c WHERE x.n = 1`, codeIdentifier, 1, 23},
	{`SELECT * FROM docs c WHERE docs.n = 1`, codeIdentifier, 1, 28},
	{`SELECT * FROM c WHERE c.n = @n`, codeIdentifier, 1, 29},
	{`SELECT * FROM c WHERE FOO(c.n)`, codeFunction, 1, 23},
	{`SELECT * FROM c WHERE IS_NULL()`, codeArguments, 1, 23},
	{`SELECT * FROM c WHERE COUNT(1) > 1`, codeOther, 1, 23},
	{`SELECT COUNT(1), c.id FROM c`, codeOther, 1, 18},
	{`SELECT VALUE SUM(MAX(c.n)) FROM c`, codeOther, 1, 18},
	{`SELECT c.id, c.id FROM c`, codeOther, 1, 14},
	{`SELECT * FROM c ORDER BY c.n + 1`, codeOther, 1, 26},
	{`SELECT * FROM c ORDER BY c`, codeOther, 1, 26},
	{`SELECT VALUE COUNT(1) FROM c ORDER BY c.n`, codeOther, 1, 30},
	{`SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1`, codeOther, 1, 23},
	{`SELECT TOP -1 * FROM c`, codeSyntax, 1, 12},
	{`SELECT TOP 1.5 * FROM c`, codeOther, 1, 12},
	{`SELECT * FROM c OFFSET 1`, codeEnd, 1, 25},
	{`SELECT * FROM c GROUP BY c.n`, codeOther, 1, 17},
	{`SELECT * FROM c JOIN t IN c.tags`, codeOther, 1, 17},
	{`SELECT * FROM t IN c.tags`, codeSyntax, 1, 17},
	{`SELECT * FROM c.tags`, codeSyntax, 1, 16},
	{`SELECT * FROM c WHERE c.s LIKE 'a%'`, codeOther, 1, 27},
	{`SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM c)`, codeOther, 1, 23},
	{`SELECT VALUE (SELECT 1) FROM c`, codeOther, 1, 15},
	{`SELECT VALUE c.a ?? c.b FROM c`, codeOther, 1, 18},
	{`SELECT VALUE udf.f(c) FROM c`, codeOther, 1, 14},
	{`SELECT 1`, codeEnd, 1, 9},
	{`SELECT * FROM c WHERE ` + strings.Repeat("(", 2*maxExpressionDepth), codeOther, 1, 22 + maxExpressionDepth + 1},
	{`SELECT * FROM c WHERE ` + strings.Repeat("1+", 2*maxExpressionDepth) + "1", codeOther, 1, 24 + 2*maxExpressionDepth},
}

// Ensure that what can't be served is refused with its place, never ignored.
func TestParseRefuses(t *testing.T) {
	for _, tc := range refusedQueries {
		_, err := Parse(tc.text, nil)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: error %v, want one of %T", tc.text, err, e)
			continue
		}
		if e.Code != tc.code || e.Line != tc.line || e.Column != tc.column {
			t.Errorf("%.60q: %v; want %s at line %d, column %d", tc.text, e, tc.code, tc.line, tc.column)
		}
	}
}

// Ensure that a long chain of alternatives, as ReadManyItems sends it, is read.
func TestParseLongChain(t *testing.T) {
	text := "SELECT * FROM c WHERE (c.id = 'x' AND c.pk = 'x')" + strings.Repeat(" OR (c.id = 'a' AND c.pk = 'a')", 999)
	if !mustParse(t, text, nil).Matches(decode(t, `{"id":"a","pk":"a"}`)) {
		t.Error("the last alternative does not match")
	}
}

func TestParseCondition(t *testing.T) {
	q, err := ParseCondition("from c where c.n = 1 AND NOT IS_DEFINED(c.gone)")
	if err != nil {
		t.Fatal(err)
	}
	if !q.Matches(decode(t, `{"n":1}`)) || q.Matches(decode(t, `{"n":1,"gone":0}`)) {
		t.Error("the condition does not decide as it says")
	}
	for _, text := range []string{"c.n = 1", "SELECT * FROM c", "from c where", "from c where x.n = 1"} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%q is taken for a condition", text)
		}
	}
}

// Ensure that no text makes the parser or the evaluator panic, and that errors
// name a place inside the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`SELECT * FROM c`, `SELECT DISTINCT TOP 3 c.a AS b, [1, {"x": c["y"][0]}] FROM root c`,
		`SELECT VALUE COUNT(1) FROM c WHERE c.n BETWEEN -1 AND @p OR c.s IN ('a', "b")`,
		`SELECT * FROM c WHERE NOT STARTSWITH(c.s, 'x', true) ORDER BY c.a DESC, c.b OFFSET 1 LIMIT 2`,
		`select c.a-1+.5e3%2 from c -- comment`, `SELECT VALUE '\u00fc\`, "SELECT \x80", `FROM c WHERE ((`,
	} {
		f.Add(text)
	}
	row := decode(f, sample)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, map[string]Value{"@p": NumberValue(1)})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Start < 0 || e.Start > len(text) || e.End < e.Start || e.End > len(text) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %#v for %q", err, text)
			}
			return
		}
		if q.Features().Aggregate {
			a := q.Aggregate()
			a.Add(row)
			a.Result()
			return
		}
		if keys := q.OrderKeys(row); q.CompareKeys(keys, keys) != 0 {
			t.Fatalf("%q: a row does not sort with itself", text)
		}
		q.Matches(row)
		if v, ok := q.Project(row); ok {
			if again, err := Decode(AppendJSON(nil, v)); err != nil || !equal(v, again) {
				t.Fatalf("%q gives no JSON: %v", text, err)
			}
		}
	})
}
