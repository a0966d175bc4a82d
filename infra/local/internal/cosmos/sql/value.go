package sql

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kind is the type of a Value. The order of the constants is the order in which
// ORDER BY sorts values of different types (Microsoft Learn, "ORDER BY clause").
type Kind uint8

// The kinds of values. Undefined is what a path gives that leads nowhere.
const (
	Undefined Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// A Value is one JSON value or Undefined; the zero value is Undefined. Values
// are immutable and may be shared between goroutines.
type Value struct {
	kind Kind
	num  float64    // a Number; a Bool as 0 or 1
	text string     // a String; the source text of a Number, or empty
	sub  *composite // an Array or Object
}

// A composite has its text, its parts or both. Most of what is stored and read is
// never looked into: the parts are made when somebody asks.
type composite struct {
	source string // canonical: AppendJSON appends it; "" if it was never text
	open   sync.Once
	names  []string // of an Object, parallel to values
	values []Value
}

// parts returns what v consists of, nil if it is neither array nor object.
func (v Value) parts() *composite {
	if v.sub != nil && v.sub.source != "" {
		v.sub.open.Do(v.sub.decode)
	}
	return v.sub
}

// NullValue is the JSON null.
func NullValue() Value { return Value{kind: Null} }

// BoolValue is a JSON boolean.
func BoolValue(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.num = 1
	}
	return v
}

// NumberValue is a JSON number.
func NumberValue(f float64) Value { return Value{kind: Number, num: f} }

// IntegerValue is a JSON number that keeps all digits of i.
func IntegerValue(i int64) Value {
	return Value{kind: Number, num: float64(i), text: strconv.FormatInt(i, 10)}
}

// StringValue is a JSON string.
func StringValue(s string) Value { return Value{kind: String, text: s} }

// ArrayValue is a JSON array; it takes ownership of elements.
func ArrayValue(elements ...Value) Value {
	return Value{kind: Array, sub: &composite{values: elements}}
}

// A Field is one member of an object to be made.
type Field struct {
	Name  string
	Value Value
}

// ObjectValue is a JSON object with those members, whose names must differ.
func ObjectValue(fields ...Field) Value {
	c := &composite{names: make([]string, 0, len(fields)), values: make([]Value, 0, len(fields))}
	for _, f := range fields {
		c.names, c.values = append(c.names, f.Name), append(c.values, f.Value)
	}
	return Value{kind: Object, sub: c}
}

// Detached is v with memory of its own, for a value that outlives the text it was
// decoded from. Only for what is neither array nor object.
func (v Value) Detached() Value {
	v.text = strings.Clone(v.text)
	return v
}

// Kind tells the type of v.
func (v Value) Kind() Kind { return v.kind }

// IsTrue reports whether v is the boolean true.
func (v Value) IsTrue() bool { return v.kind == Bool && v.num == 1 }

// Float is the number v, rounded to a double; 0 for any other kind.
func (v Value) Float() float64 {
	if v.kind != Number {
		return 0
	}
	return v.num
}

// Integer is the number v when its text is an integer of 64 bits.
func (v Value) Integer() (int64, bool) {
	if v.kind != Number {
		return 0, false
	}
	i, err := strconv.ParseInt(v.numberText(), 10, 64)
	return i, err == nil
}

// Text is the string v; empty for any other kind.
func (v Value) Text() string {
	if v.kind != String {
		return ""
	}
	return v.text
}

// Len counts the elements of an array or the members of an object.
func (v Value) Len() int {
	if v.sub == nil {
		return 0
	}
	return len(v.parts().values)
}

// Index is the i-th element of an array or member of an object, or Undefined.
func (v Value) Index(i int) Value {
	if i < 0 || i >= v.Len() {
		return Value{}
	}
	return v.sub.values[i]
}

// Member is the member of an object with that name, or Undefined.
func (v Value) Member(name string) Value {
	if i := v.position(name); i >= 0 {
		return v.sub.values[i]
	}
	return Value{}
}

// Members gives the members of an object in their order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != Object {
			return
		}
		c := v.parts()
		for i, name := range c.names {
			if !yield(name, c.values[i]) {
				return
			}
		}
	}
}

// WithMember is a copy of the object v in which name has that value: in its old
// place if it had one, at the end otherwise. An Undefined value removes it.
func (v Value) WithMember(name string, value Value) Value {
	c := &composite{names: make([]string, 0, v.Len()+1), values: make([]Value, 0, v.Len()+1)}
	found := false
	for n, old := range v.Members() {
		if n == name {
			found, old = true, value
		}
		if old.kind != Undefined {
			c.names, c.values = append(c.names, n), append(c.values, old)
		}
	}
	if !found && value.kind != Undefined {
		c.names, c.values = append(c.names, name), append(c.values, value)
	}
	return Value{kind: Object, sub: c}
}

// WithFields is a copy of the object v with those members at the end, in place
// of members of the same names.
func (v Value) WithFields(fields ...Field) Value {
	n := v.Len() + len(fields)
	c := &composite{names: make([]string, 0, n), values: make([]Value, 0, n)}
	for name, value := range v.Members() {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			c.names, c.values = append(c.names, name), append(c.values, value)
		}
	}
	for _, f := range fields {
		c.names, c.values = append(c.names, f.Name), append(c.values, f.Value)
	}
	return Value{kind: Object, sub: c}
}

// At follows a path of member names, or Undefined where it ends early.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		v = v.Member(name)
	}
	return v
}

func (v Value) position(name string) int {
	if v.kind != Object {
		return -1
	}
	return slices.Index(v.parts().names, name)
}

func (v Value) numberText() string {
	if v.text != "" {
		return v.text
	}
	return string(appendNumber(nil, v.num))
}
