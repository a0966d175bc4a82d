package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects in a document
// (Microsoft Learn, "Azure Cosmos DB service quotas": 128 levels).
const MaxDepth = 128

// Decode reads one JSON text. Numbers keep their source text, members keep their
// order; of members with the same name the last one counts. The value may share
// the memory of one copy of the text: Detached parts with it.
func Decode(data []byte) (Value, error) {
	if !json.Valid(data) {
		return Value{}, fmt.Errorf("decode JSON: %w", syntaxError(data))
	}
	d := decoder{data: string(data), all: !utf8.Valid(data)}
	v, err := d.value(0)
	if err != nil {
		return Value{}, fmt.Errorf("decode JSON at byte %d: %w", d.at, err)
	}
	return v, nil
}

// syntaxError tells what is wrong with a text that is no JSON.
func syntaxError(data []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(data, &any)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// decoder walks over a text that is known to be JSON, so that it needs to look
// at the first byte of each value only. (json.Decoder's tokens cost several
// times as much, and every write is decoded.)
type decoder struct {
	data string
	at   int
	all  bool // decode what is nested, too: the text is not canonical
}

// next skips white space, commas and colons, and returns the byte behind them.
func (d *decoder) next() byte {
	for {
		switch c := d.data[d.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			d.at++
		default:
			return c
		}
	}
}

func (d *decoder) value(depth int) (Value, error) {
	switch d.next() {
	case 'n':
		d.at += len("null")
		return NullValue(), nil
	case 't':
		d.at += len("true")
		return BoolValue(true), nil
	case 'f':
		d.at += len("false")
		return BoolValue(false), nil
	case '"':
		text, err := d.text()
		return StringValue(text), err
	case '[', '{':
		if depth >= MaxDepth {
			return Value{}, fmt.Errorf("nested deeper than %d levels", MaxDepth)
		}
		kind := Object
		if d.data[d.at] == '[' {
			kind = Array
		}
		if start := d.at; depth > 0 && !d.all {
			if d.skip(depth) {
				return Value{kind: kind, sub: &composite{source: d.data[start:d.at]}}, nil
			}
			d.at = start
		}
		c := &composite{}
		err := d.members(kind, c, depth+1)
		return Value{kind: kind, sub: c}, err
	}
	return d.number()
}

func (d *decoder) number() (Value, error) {
	start := d.at
	d.at += numberLength(d.data[start:])
	text := d.data[start:d.at]
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Value{}, fmt.Errorf("number %s: %w", text, err)
	}
	return Value{kind: Number, num: f, text: text}, nil
}

// numberLength is the length of the number that the text begins with.
func numberLength(text string) int {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && strings.IndexByte("+-.eE", c) < 0 {
			return i
		}
	}
	return len(text)
}

// text reads a string, whose first quote is next.
func (d *decoder) text() (string, error) {
	inner := d.data[d.at+1:]
	end := strings.IndexByte(inner, '"')
	if !d.all && strings.IndexByte(inner[:end], '\\') < 0 {
		d.at += end + 2
		return inner[:end], nil
	}
	start := d.at
	d.skipText()
	var text string
	err := json.Unmarshal([]byte(d.data[start:d.at]), &text)
	return text, err
}

// skipText moves behind the string whose first quote is next.
func (d *decoder) skipText() {
	for d.at++; ; {
		end := strings.IndexByte(d.data[d.at:], '"')
		escape := strings.IndexByte(d.data[d.at:d.at+end], '\\')
		if escape < 0 {
			d.at += end + 1
			return
		}
		d.at += escape + 2
	}
}

// skip moves behind an array or object and reports whether its text can stand for
// it: no white space, no \u, which may be half a character, no number out of range,
// no nesting that is too deep. (A name that is there twice stays so; who reads it takes the last.)
func (d *decoder) skip(depth int) bool {
	for outer := depth; ; {
		switch c := d.data[d.at]; c {
		case '"':
			start := d.at
			if d.skipText(); strings.Contains(d.data[start:d.at], `\u`) {
				return false
			}
		case '[', '{':
			if depth++; depth > MaxDepth {
				return false
			}
			d.at++
		case ']', '}':
			d.at++
			if depth--; depth == outer {
				return true
			}
		case ' ', '\t', '\r', '\n':
			return false
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := numberLength(d.data[d.at:])
			if text := d.data[d.at : d.at+n]; n > plainDigits || strings.ContainsAny(text, "eE") {
				if _, err := strconv.ParseFloat(text, 64); err != nil {
					return false
				}
			}
			d.at += n
		default:
			d.at++
		}
	}
}

// plainDigits is the length up to which a number without an exponent is in range.
const plainDigits = 300

// decode makes the parts from the source, which skip has found to be canonical.
func (c *composite) decode() {
	d := decoder{data: c.source}
	kind := Object
	if c.source[0] == '[' {
		kind = Array
	}
	if err := d.members(kind, c, 1); err != nil {
		panic(fmt.Sprintf("decode %s: %v", c.source, err)) // unreachable: nothing in it can be refused
	}
}

// indexFrom is the number of members from which on an index finds duplicates.
const indexFrom = 16

// usualMembers is for how many members there is room from the start.
const usualMembers = 8

// members reads the parts of an array or object, whose bracket is next.
func (d *decoder) members(kind Kind, c *composite, depth int) error {
	var index map[string]int
	for d.at++; ; {
		if end := d.next(); end == ']' || end == '}' {
			d.at++
			return nil
		}
		var name string
		var err error
		if kind == Object {
			if name, err = d.text(); err != nil {
				return err
			}
		}
		v, err := d.value(depth)
		if err != nil {
			return err
		}
		if kind == Array {
			c.values = append(c.values, v)
			continue
		}
		i, found := index[name]
		if index == nil {
			i = slices.Index(c.names, name)
			found = i >= 0
		}
		if found {
			c.values[i] = v
			continue
		}
		if c.names == nil {
			c.names, c.values = make([]string, 0, usualMembers), make([]Value, 0, usualMembers)
		}
		c.names, c.values = append(c.names, name), append(c.values, v)
		if index != nil {
			index[name] = len(c.names) - 1
		} else if len(c.names) == indexFrom {
			index = make(map[string]int, 2*indexFrom)
			for i, n := range c.names {
				index[n] = i
			}
		}
	}
}

// AppendJSON appends the JSON text of v to dst, without white space. Undefined
// has no text and appends nothing; as an element of an array it is null.
func AppendJSON(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.num == 1)
	case Number:
		if v.text != "" {
			return append(dst, v.text...)
		}
		return appendNumber(dst, v.num)
	case String:
		return appendString(dst, v.text)
	case Array:
		if v.sub.source != "" {
			return append(dst, v.sub.source...)
		}
		dst = append(dst, '[')
		for i, e := range v.sub.values {
			if i > 0 {
				dst = append(dst, ',')
			}
			if e.kind == Undefined {
				e = NullValue()
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case Object:
		if v.sub.source != "" {
			return append(dst, v.sub.source...)
		}
		return appendObject(dst, v)
	}
	return dst
}

func appendObject(dst []byte, v Value) []byte {
	dst = append(dst, '{')
	first := true
	for name, member := range v.Members() {
		if member.kind == Undefined {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, name), ':')
		dst = AppendJSON(dst, member)
	}
	return append(dst, '}')
}

func appendNumber(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, "null"...) // JSON has no such number
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func appendString(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	text, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...) // unreachable: every string has a JSON text
	}
	return append(dst, text...)
}

// plain reports whether s needs no escape in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}
