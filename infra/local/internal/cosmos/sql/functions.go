package sql

import (
	"math"
	"strings"
)

// A function is a built-in function of the query language. Its arguments may be
// Undefined.
type function struct {
	least, most int // how many arguments
	apply       func([]Value) Value
}

// functions are the built-in functions, by their names in upper case (Microsoft
// Learn, "System functions").
var functions = map[string]*function{
	"IS_DEFINED":   {1, 1, func(a []Value) Value { return BoolValue(a[0].Kind() != Undefined) }},
	"IS_NULL":      isKind(Null),
	"IS_BOOL":      isKind(Bool),
	"IS_NUMBER":    isKind(Number),
	"IS_STRING":    isKind(String),
	"IS_ARRAY":     isKind(Array),
	"IS_OBJECT":    isKind(Object),
	"IS_PRIMITIVE": isKind(Null, Bool, Number, String),

	"STARTSWITH":   onStrings(strings.HasPrefix),
	"ENDSWITH":     onStrings(strings.HasSuffix),
	"CONTAINS":     onStrings(strings.Contains),
	"STRINGEQUALS": onStrings(func(a, b string) bool { return a == b }),
	"LOWER":        onString(func(s string) Value { return StringValue(strings.ToLower(s)) }),
	"UPPER":        onString(func(s string) Value { return StringValue(strings.ToUpper(s)) }),
	"LENGTH":       onString(func(s string) Value { return IntegerValue(int64(len([]rune(s)))) }),

	"ARRAY_CONTAINS": {2, 3, arrayContains},
	"ARRAY_LENGTH": {1, 1, func(a []Value) Value {
		if a[0].Kind() != Array {
			return Value{}
		}
		return IntegerValue(int64(a[0].Len()))
	}},

	"ABS":     onNumber(math.Abs),
	"FLOOR":   onNumber(math.Floor),
	"CEILING": onNumber(math.Ceil),
}

func isKind(kinds ...Kind) *function {
	return &function{1, 1, func(a []Value) Value {
		for _, kind := range kinds {
			if a[0].Kind() == kind {
				return BoolValue(true)
			}
		}
		return BoolValue(false)
	}}
}

// onStrings makes a function of two strings; a third argument of true ignores
// case.
func onStrings(holds func(a, b string) bool) *function {
	return &function{2, 3, func(a []Value) Value {
		if a[0].Kind() != String || a[1].Kind() != String {
			return Value{}
		}
		left, right := a[0].Text(), a[1].Text()
		if len(a) == 3 {
			if a[2].Kind() != Bool {
				return Value{}
			}
			if a[2].IsTrue() {
				left, right = strings.ToLower(left), strings.ToLower(right)
			}
		}
		return BoolValue(holds(left, right))
	}}
}

func onString(f func(string) Value) *function {
	return &function{1, 1, func(a []Value) Value {
		if a[0].Kind() != String {
			return Value{}
		}
		return f(a[0].Text())
	}}
}

func onNumber(f func(float64) float64) *function {
	return &function{1, 1, func(a []Value) Value {
		if a[0].Kind() != Number {
			return Value{}
		}
		return NumberValue(f(a[0].Float()))
	}}
}

// arrayContains finds an element equal to the second argument or, with a third
// argument of true, an object that has all its members.
func arrayContains(a []Value) Value {
	if a[0].Kind() != Array || a[1].Kind() == Undefined {
		return Value{}
	}
	partial := len(a) == 3 && a[2].IsTrue()
	for i := range a[0].Len() {
		element := a[0].Index(i)
		if equal(element, a[1]) || partial && covers(element, a[1]) {
			return BoolValue(true)
		}
	}
	return BoolValue(false)
}

func covers(element, part Value) bool {
	if element.Kind() != Object || part.Kind() != Object {
		return false
	}
	for name, want := range part.Members() {
		if got := element.Member(name); !equal(got, want) && !covers(got, want) {
			return false
		}
	}
	return true
}
