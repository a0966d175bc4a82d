package sql

import (
	"math"
	"slices"
)

// A Span is the rows whose value at a path lies between two values of one kind. An
// index of that path finds them.
type Span struct {
	Path                int // which of the paths that were given to Spans
	low, high           Value
	aboveLow, belowHigh bool // the bound itself isn't in it
}

// Low is a value that none of the span's is before.
func (s Span) Low() Value { return s.low }

// Ends reports whether v, of a row behind Low, and all values behind it in the
// order of Compare are behind the span.
func (s Span) Ends(v Value) bool {
	if v.kind != s.low.kind {
		return true
	}
	if s.high.kind == Undefined {
		return false
	}
	c := Compare(v, s.high)
	return c > 0 || c == 0 && s.belowHigh
}

// Contains reports whether v is in the span.
func (s Span) Contains(v Value) bool {
	if s.Ends(v) {
		return false
	}
	c := Compare(v, s.low)
	return c > 0 || c == 0 && !s.aboveLow
}

// Spans gives spans of some of the paths, each member names from the row, such
// that every row that matches is in at least one of them; nil when the WHERE clause
// doesn't say enough for that. They are exact if every row in one of them matches.
func (q *Query) Spans(paths [][]string) (spans []Span, exact bool) { return spansOf(q.where, paths) }

func spansOf(e expr, paths [][]string) (spans []Span, exact bool) {
	switch n := e.(type) {
	case binary:
		if v, ok := n.right.(literal); ok {
			return spanOf(n.left, n.op, v.value, paths), true
		}
		if v, ok := n.left.(literal); ok {
			return spanOf(n.right, mirrored[n.op], v.value, paths), true
		}
	case logical:
		exact = n.or
		for _, operand := range n.operands {
			some, all := spansOf(operand, paths)
			switch {
			case some != nil && !n.or: // one condition of those that all hold
				return some, false
			case some == nil && n.or:
				return nil, false
			}
			spans, exact = append(spans, some...), exact && all
		}
		return spans, exact
	}
	return nil, false
}

var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func spanOf(e expr, op string, v Value, paths [][]string) []Span {
	path := slices.IndexFunc(paths, func(p []string) bool { return isPath(e, p) })
	least, scalar := leastOf(v.kind)
	if path < 0 || !scalar {
		return nil
	}
	s := Span{Path: path}
	switch op {
	case "=":
		s.low, s.high = v, v
	case "<", "<=":
		s.low, s.high, s.belowHigh = least, v, op == "<"
	case ">", ">=":
		s.low, s.aboveLow = v, op == ">"
	default:
		return nil
	}
	return []Span{s}
}

// leastOf gives the first value of a kind; ok is false for kinds that indexes
// don't have.
func leastOf(k Kind) (v Value, ok bool) {
	switch k {
	case Null:
		return NullValue(), true
	case Bool:
		return BoolValue(false), true
	case Number:
		return NumberValue(math.Inf(-1)), true
	case String:
		return StringValue(""), true
	}
	return Value{}, false
}
