package sql

import (
	"cmp"
	"slices"
	"strings"
)

// equal compares two defined values of any kinds, deeply; numbers as doubles,
// members of objects in any order.
func equal(a, b Value) bool {
	if a.kind != b.kind || a.Len() != b.Len() {
		return false
	}
	switch a.kind {
	case Bool, Number:
		return a.num == b.num
	case String:
		return a.text == b.text
	case Array:
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
	case Object:
		for name, member := range a.Members() {
			other := b.Member(name)
			if other.kind == Undefined || !equal(member, other) {
				return false
			}
		}
	}
	return true
}

// equality is the = operator: Undefined unless both sides are of one type
// (Microsoft Learn, "Equality and comparison operators").
func equality(a, b Value) Value {
	if a.kind != b.kind || a.kind == Undefined {
		return Value{}
	}
	return BoolValue(equal(a, b))
}

// relation is the < <= > >= operators on the sign of the comparison; Undefined
// for different types and for arrays and objects.
func relation(a, b Value, holds func(int) bool) Value {
	if a.kind != b.kind || a.kind == Undefined || a.kind >= Array {
		return Value{}
	}
	return BoolValue(holds(Compare(a, b)))
}

// Compare gives the total order of ORDER BY, MIN and MAX: by kind, then within
// it; negative when a comes first.
func Compare(a, b Value) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case Bool, Number:
		return cmp.Compare(a.num, b.num)
	case String:
		return strings.Compare(a.text, b.text)
	case Array, Object:
		return compareComposite(a, b)
	}
	return 0
}

func compareComposite(a, b Value) int {
	for i := range min(a.Len(), b.Len()) {
		if a.kind == Object {
			if c := strings.Compare(a.parts().names[i], b.parts().names[i]); c != 0 {
				return c
			}
		}
		if c := Compare(a.Index(i), b.Index(i)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Len(), b.Len())
}

// Canonical is a value equal to v whose JSON text is the same for all values
// equal to v: numbers as doubles, members in the order of their names.
func (v Value) Canonical() Value {
	switch v.kind {
	case Number:
		return NumberValue(v.num)
	case Array:
		elements := make([]Value, v.Len())
		for i := range elements {
			elements[i] = v.Index(i).Canonical()
		}
		return ArrayValue(elements...)
	case Object:
		fields := make([]Field, 0, v.Len())
		for name, member := range v.Members() {
			fields = append(fields, Field{name, member.Canonical()})
		}
		slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		return ObjectValue(fields...)
	}
	return v
}
