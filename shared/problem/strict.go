package problem

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxFaults and maxName keep the answer to a bad body from being larger than
// the body.
const (
	maxFaults = 50  // listed in one problem
	maxName   = 100 // bytes of an unknown field's name
)

// strict walks a JSON value beside the Go type that it is meant for, and
// collects what does not fit, up to maxFaults. encoding/json stops at the first
// fault, has no pointer for an unknown field, and takes names in any case.
type strict struct{ faults []Field }

func (s *strict) fault(pointer, format string, args ...any) {
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
}

func (s *strict) walk(raw json.RawMessage, t reflect.Type, pointer string) {
	if string(raw) == "null" {
		switch t.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		default:
			s.fault(pointer, "must not be null")
		}
		return
	}
	if decodesItself(t) {
		s.leaf(raw, t, pointer)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.walk(raw, t.Elem(), pointer)
	case reflect.Struct:
		s.object(raw, pointer, fieldsOf(t))
	case reflect.Map:
		s.object(raw, pointer, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			s.array(raw, t, pointer)
		} else if raw[0] == '"' {
			s.leaf(raw, t, pointer)
		} else {
			s.fault(pointer, "must be a string in base64, not %s", show(raw))
		}
	default:
		s.leaf(raw, t, pointer)
	}
}

// object walks the members; typeOf tells the type of each that is known.
func (s *strict) object(raw json.RawMessage, pointer string, typeOf func(string) (reflect.Type, bool)) {
	if raw[0] != '{' {
		s.fault(pointer, "must be an object, not %s", show(raw))
		return
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, err := dec.Token() // the brace
	seen := map[string]bool{}
	for err == nil && dec.More() && len(s.faults) < maxFaults {
		var key json.Token
		if key, err = dec.Token(); err != nil {
			break
		}
		var value json.RawMessage
		if err = dec.Decode(&value); err != nil {
			break
		}
		name := key.(string) // the decoder lets nothing else be a key
		at := pointer + "/" + escape(name)
		t, known := typeOf(name)
		switch {
		case !known:
			s.fault(pointer+"/"+escape(short(name)), "is not a known field")
		case seen[name]:
			s.fault(at, "is given twice")
		default:
			s.walk(value, t, at)
		}
		seen[name] = true
	}
	if err != nil {
		s.fault(pointer, "is not readable")
	}
}

func (s *strict) array(raw json.RawMessage, t reflect.Type, pointer string) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		s.fault(pointer, "must be an array, not %s", show(raw))
		return
	}
	for i, item := range items {
		s.walk(item, t.Elem(), pointer+"/"+strconv.Itoa(i))
	}
}

func (s *strict) leaf(raw json.RawMessage, t reflect.Type, pointer string) {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
	case t == reflect.TypeFor[time.Time]():
		s.fault(pointer, "must be a time as in RFC 3339, such as 2026-01-31T16:00:00Z")
	case errors.As(err, &mismatch):
		s.fault(pointer, "must be %s, not %s", nameOf(t), show(raw))
	default:
		s.fault(pointer, "%s", err.Error())
	}
}

// decodesItself reports whether t has its own idea of its JSON.
func decodesItself(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fieldsOf returns the types of the JSON fields of a struct, those of embedded
// structs included.
func fieldsOf(t reflect.Type) func(string) (reflect.Type, bool) {
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		types[name] = f.Type
	}
	return func(name string) (reflect.Type, bool) {
		field, ok := types[name]
		return field, ok
	}
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// escape writes a name as a reference token of a JSON pointer.
func escape(name string) string { return pointerEscape.Replace(name) }

// short cuts a name that only its sender knows.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "..."
}

// show names the kind of a value, and of a number that is short itself.
func show(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	if len(raw) > 30 {
		return "a number of that length"
	}
	return string(raw)
}

func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0, of " + strconv.Itoa(t.Bits()) + " bits"
	default:
		return "of another type"
	}
}
