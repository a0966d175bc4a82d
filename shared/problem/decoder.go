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
	"sync"
	"time"
)

// maxFaults and maxName keep the answer to a bad body from being larger than
// the body.
const (
	maxFaults = 50  // listed in one problem
	maxName   = 100 // bytes of an unknown field's name
)

// decoder reads a JSON value into the Go value that it is meant for, in one pass.
// What does not fit is collected, up to maxFaults, and left out; the rest is read.
// encoding/json reports one fault only, has no pointer for an unknown field, and
// takes names in any case.
type decoder struct {
	data   []byte // of sound syntax
	at     int    // the next byte
	path   []string
	faults []Field
	quiet  bool // a fault of what is around says it all
}

func (d *decoder) fault(format string, args ...any) {
	if !d.quiet && len(d.faults) < maxFaults {
		d.faults = append(d.faults, Field{Pointer: d.pointer(), Detail: fmt.Sprintf(format, args...)})
	}
}

// pointer is where the decoder is.
func (d *decoder) pointer() string {
	var out strings.Builder
	for _, name := range d.path {
		out.WriteByte('/')
		out.WriteString(escape(name))
	}
	return out.String()
}

// value reads the next value.
func (d *decoder) value(v reflect.Value) {
	d.space()
	shape := shapeOf(v.Type())
	first := d.data[d.at]
	switch {
	case first == 'n' && !nullable(v.Kind()):
		d.skip()
		d.fault("must not be null")
	case shape.itself:
		d.leaf(v)
	case first == 'n':
		d.skip()
		v.SetZero()
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(v.Elem())
	case v.Kind() == reflect.Struct:
		d.object(v, shape)
	case v.Kind() == reflect.Map:
		d.mapping(v)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		d.array(v)
	case v.Kind() == reflect.Slice && first != '"':
		d.fault("must be a string in base64, not %s", show(d.skip()))
	case v.Kind() == reflect.String && first == '"':
		v.SetString(d.text())
	default:
		d.leaf(v)
	}
}

// object reads the fields of a struct.
func (d *decoder) object(v reflect.Value, shape *shape) {
	var few [32]bool
	seen := few[:]
	if len(shape.fields) > len(few) {
		seen = make([]bool, len(shape.fields))
	}
	d.members(func(raw []byte) {
		i, known := shape.byName[string(raw)]
		name := ""
		if known {
			name = shape.fields[i].name
		} else if name = unquoted(raw); bytes.IndexByte(raw, '\\') >= 0 {
			i, known = shape.byName[name]
		}
		d.path = append(d.path, name)
		quiet := d.quiet
		switch {
		case !known:
			d.path[len(d.path)-1] = short(name)
			d.fault("is not a known field")
			// A name in another case is no excuse to report the right one as missing.
			i = shape.folded(name)
			d.quiet = true
		case seen[i]:
			d.fault("is given twice")
			d.quiet = true
		}
		if i < 0 {
			d.skip()
		} else {
			seen[i] = seen[i] || known
			d.value(v.FieldByIndex(shape.fields[i].index))
		}
		d.quiet = quiet
		d.path = d.path[:len(d.path)-1]
	})
}

// mapping reads a map whose keys are strings.
func (d *decoder) mapping(v reflect.Value) {
	t := v.Type()
	all := reflect.MakeMap(t)
	d.members(func(raw []byte) {
		name := unquoted(raw)
		key := reflect.ValueOf(name).Convert(t.Key())
		d.path = append(d.path, name)
		quiet := d.quiet
		if all.MapIndex(key).IsValid() {
			d.fault("is given twice")
			d.quiet = true
		}
		value := reflect.New(t.Elem()).Elem()
		d.value(value)
		all.SetMapIndex(key, value)
		d.quiet = quiet
		d.path = d.path[:len(d.path)-1]
	})
	v.Set(all)
}

// members calls read for each member of an object, with the name as it is between
// the quotes; read reads the value. What is no object is left out.
func (d *decoder) members(read func(name []byte)) {
	if d.data[d.at] != '{' {
		d.fault("must be an object, not %s", show(d.skip()))
		return
	}
	d.at++
	for d.space(); d.data[d.at] != '}'; d.space() {
		if d.data[d.at] == ',' {
			d.at++
			d.space()
		}
		name := d.quoted()
		d.space()
		d.at++ // the colon
		read(name)
	}
	d.at++
}

func (d *decoder) array(v reflect.Value) {
	if d.data[d.at] != '[' {
		d.fault("must be an array, not %s", show(d.skip()))
		return
	}
	all := reflect.MakeSlice(v.Type(), 0, 0)
	d.at++
	for d.space(); d.data[d.at] != ']'; d.space() {
		if d.data[d.at] == ',' {
			d.at++
		}
		d.path = append(d.path, strconv.Itoa(all.Len()))
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(element)
		all = reflect.Append(all, element)
		d.path = d.path[:len(d.path)-1]
	}
	d.at++
	v.Set(all)
}

// leaf has encoding/json read a value.
func (d *decoder) leaf(v reflect.Value) {
	raw := d.skip()
	if v.Kind() == reflect.Float64 && !shapeOf(v.Type()).itself {
		if number, err := strconv.ParseFloat(string(raw), 64); err == nil {
			v.SetFloat(number)
			return
		}
	}
	err := json.Unmarshal(raw, v.Addr().Interface())
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
	case v.Type() == reflect.TypeFor[time.Time]():
		d.fault("must be a time as in RFC 3339, such as 2026-01-31T16:00:00Z")
	case errors.As(err, &mismatch):
		d.fault("must be %s, not %s", nameOf(v.Type()), show(raw))
	default:
		d.fault("%s", err.Error())
	}
}

// space passes over white space.
func (d *decoder) space() {
	for d.at < len(d.data) && d.data[d.at] <= ' ' {
		d.at++
	}
}

// skip passes over the next value and returns it.
func (d *decoder) skip() []byte {
	from := d.at
	for depth := 0; ; {
		switch d.data[d.at] {
		case '"':
			d.quoted()
		case '{', '[':
			depth++
			d.at++
		case '}', ']':
			depth--
			d.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			d.at++
			continue // no value ends here
		default:
			for d.at < len(d.data) && !ends(d.data[d.at]) {
				d.at++
			}
		}
		if depth == 0 {
			return d.data[from:d.at]
		}
	}
}

// ends reports whether a number, true, false or null ends before that byte.
func ends(c byte) bool { return c <= ' ' || c == ',' || c == ']' || c == '}' }

// quoted passes over the next string and returns what is between its quotes.
func (d *decoder) quoted() []byte {
	from := d.at + 1
	for d.at = from; d.data[d.at] != '"'; d.at++ {
		if d.data[d.at] == '\\' {
			d.at++
		}
	}
	d.at++
	return d.data[from : d.at-1]
}

// text reads the next string.
func (d *decoder) text() string { return unquoted(d.quoted()) }

// unquoted reads what is between the quotes of a string.
func unquoted(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var text string
	// Sound syntax was promised: whatever is escaped can be read.
	_ = json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &text)
	return text
}

// shape is what the decoder knows of a Go type.
type shape struct {
	itself bool // the type has its own idea of its JSON
	fields []field
	byName map[string]int
}

// field is a field of a struct, or of a struct embedded in it, in JSON.
type field struct {
	name  string
	index []int
}

// folded returns the field whose name differs in case only, or -1.
func (s *shape) folded(name string) int {
	for i, f := range s.fields {
		if strings.EqualFold(f.name, name) {
			return i
		}
	}
	return -1
}

var (
	plain  shape
	shapes sync.Map // by reflect.Type
)

func shapeOf(t reflect.Type) *shape {
	if t.PkgPath() == "" && t.Kind() != reflect.Struct {
		return &plain // a type without a name has no methods
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{byName: map[string]int{}}
	if t.Kind() != reflect.Pointer {
		p := reflect.PointerTo(t)
		s.itself = p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	}
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			s.byName[name] = len(s.fields)
			s.fields = append(s.fields, field{name, f.Index})
		}
	}
	shapes.Store(t, s)
	return s
}

// nullable reports whether null is a value of that kind.
func nullable(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Map || k == reflect.Slice || k == reflect.Interface
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
func show(raw []byte) string {
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
