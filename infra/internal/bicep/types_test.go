package bicep_test

import (
	"strings"
	"testing"
)

// TestTypes holds values to types that are more than a name.
func TestTypes(t *testing.T) {
	const types = `
@description('anything')
type level = 'low' | 'high'
type either = (
  1
  | -2
  | true
  | null
)
type shape = {
  @minLength(1)
  level: level
  'of it': either?
  pair: [string, int]
  more: { *: bool }
  raw: resourceInput<'A.B/c@1'>?
  part: other.x?
  items: other.y[*]?
}
type other = { x: string, y: string[] }
param given shape
output o shape = given
`
	good := func() map[string]any {
		return map[string]any{
			"level": "low", "of it": int64(-2), "pair": []any{"a", int64(1)}, "more": map[string]any{"x": true},
			"raw": map[string]any{"any": "thing"}, "part": "p",
		}
	}
	mustDeploy(t, map[string]string{"main.bicep": types}, map[string]any{"given": good()})
	for want, change := range map[string]func(map[string]any){
		"has a level that is middle; allowed: low, high": func(o map[string]any) { o["level"] = "middle" },
		"has a of it that is 3; allowed: 1, -2, true":    func(o map[string]any) { o["of it"] = int64(3) },
		"has a pair that has an item 1":                  func(o map[string]any) { o["pair"] = []any{"a", "b"} },
		"has a more that has a x that is a number":       func(o map[string]any) { o["more"] = map[string]any{"x": int64(1)} },
		"has no level":                        func(o map[string]any) { delete(o, "level") },
		"has a morre, which its type has not": func(o map[string]any) { o["morre"] = true },
	} {
		given := good()
		change(given)
		if _, problem := deploy(t, map[string]string{"main.bicep": types}, map[string]any{"given": given}); !strings.Contains(problem, want) {
			t.Errorf("got %q, want %q", problem, want)
		}
	}
}
