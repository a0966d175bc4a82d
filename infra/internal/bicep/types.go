package bicep

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// primitives are the types that need no declaration.
var primitives = []string{"string", "int", "bool", "object", "array"}

// mismatch tells why a value is not of a type, "" if it is. What only the
// deployment knows fits every type.
func (f *frame) mismatch(v any, t *typeExpr) string {
	if _, unknown := v.(Symbol); unknown || t == nil {
		return ""
	}
	switch t.kind {
	case namedType:
		return f.mismatchNamed(v, t.name)
	case literalType:
		if v != t.value {
			return fmt.Sprintf("is %v, not %v", v, t.value)
		}
	case nullableType:
		if v != nil {
			return f.mismatch(v, t.item)
		}
	case arrayType, tupleType:
		return f.mismatchArray(v, t)
	case objectType:
		return f.mismatchObject(v, t)
	case unionType:
		var allowed []string
		for _, m := range t.members {
			if f.mismatch(v, m.of) == "" {
				return ""
			}
			if m.of.kind == literalType {
				allowed = append(allowed, fmt.Sprint(m.of.value))
			}
		}
		return fmt.Sprintf("is %v; allowed: %s", v, strings.Join(allowed, ", "))
	case memberType, derivedType: // not known here
	}
	return ""
}

func (f *frame) mismatchNamed(v any, name string) string {
	fits := false
	switch name {
	case "string":
		_, fits = v.(string)
	case "int":
		_, fits = v.(int64)
	case "bool":
		_, fits = v.(bool)
	case "array":
		_, fits = v.([]any)
	case "object":
		_, fits = v.(map[string]any)
	default:
		if d := f.file.declared(name, Type); d != nil {
			return f.mismatch(v, d.of)
		}
		d, home := f.imported(name)
		return home.mismatch(v, d.of)
	}
	if !fits {
		return fmt.Sprintf("is %s, not of type %s", kindOf(v), name)
	}
	return ""
}

func (f *frame) mismatchArray(v any, t *typeExpr) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprintf("is %s, not an array", kindOf(v))
	}
	if t.kind == tupleType && len(list) != len(t.members) {
		return fmt.Sprintf("has %d items, not %d", len(list), len(t.members))
	}
	for i, item := range list {
		of := t.item
		if t.kind == tupleType {
			of = t.members[i].of
		}
		if problem := f.mismatch(item, of); problem != "" {
			return fmt.Sprintf("has an item %d that %s", i, problem)
		}
	}
	return ""
}

func (f *frame) mismatchObject(v any, t *typeExpr) string {
	o, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("is %s, not an object", kindOf(v))
	}
	rest := maps.Clone(o)
	for _, m := range t.members {
		value, there := o[m.name]
		delete(rest, m.name)
		if !there && m.of.kind != nullableType {
			return "has no " + m.name
		}
		if problem := f.mismatch(value, m.of); problem != "" {
			return fmt.Sprintf("has a %s that %s", m.name, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if t.rest == nil {
			return fmt.Sprintf("has a %s, which its type has not", name)
		}
		if problem := f.mismatch(rest[name], t.rest); problem != "" {
			return fmt.Sprintf("has a %s that %s", name, problem)
		}
	}
	return ""
}

// hold holds a parameter's value to its type and decorators.
func (f *frame) hold(d *declaration, v any) {
	if problem := f.mismatch(v, d.of); problem != "" {
		fail(d.at, "the param %s %s", d.name, problem)
	}
	if c := d.decorator("allowed"); c != nil && len(c.args) == 1 && v != nil {
		allowed := f.environment().list(c.args[0])
		if !slices.ContainsFunc(allowed, func(a any) bool { return equal(d.at, a, v) }) {
			fail(d.at, "the param %s is %v; allowed: %v", d.name, v, allowed)
		}
	}
	size, word := int64(0), ""
	switch v := v.(type) {
	case int64:
		size, word = v, "Value"
	case string:
		size, word = int64(utf8.RuneCountInString(v)), "Length"
	case []any:
		size, word = int64(len(v)), "Length"
	default:
		return
	}
	if limit, ok := f.limit(d, "min"+word); ok && size < limit {
		fail(d.at, "the param %s is %v; @min%s is %d", d.name, v, word, limit)
	}
	if limit, ok := f.limit(d, "max"+word); ok && size > limit {
		fail(d.at, "the param %s is %v; @max%s is %d", d.name, v, word, limit)
	}
}

func (f *frame) limit(d *declaration, decorator string) (int64, bool) {
	c := d.decorator(decorator)
	if c == nil || len(c.args) != 1 {
		return 0, false
	}
	n, ok := f.environment().value(c.args[0]).(int64)
	return n, ok
}
