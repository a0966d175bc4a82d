package sql

import "testing"

func decode(tb testing.TB, text string) Value {
	tb.Helper()
	v, err := Decode([]byte(text))
	if err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	return v
}

func mustParse(tb testing.TB, text string, params map[string]Value) *Query {
	tb.Helper()
	q, err := Parse(text, params)
	if err != nil {
		tb.Fatalf("parse %q: %v", text, err)
	}
	return q
}
