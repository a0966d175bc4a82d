package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects in a document
// (Microsoft Learn, "Azure Cosmos DB service quotas": 128 levels).
const MaxDepth = 128

// Decode reads one JSON text. Numbers keep their source text, members keep their
// order; of members with the same name the last one counts.
func Decode(data []byte) (Value, error) {
	if !json.Valid(data) {
		return Value{}, fmt.Errorf("decode JSON: %w", syntaxError(data))
	}
	d := decoder{data: data}
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
	data []byte
	at   int
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
		if d.data[d.at] == '[' {
			return d.array(depth + 1)
		}
		return d.object(depth + 1)
	}
	return d.number()
}

func (d *decoder) number() (Value, error) {
	start := d.at
	for d.at < len(d.data) && strings.IndexByte("+-.0123456789eE", d.data[d.at]) >= 0 {
		d.at++
	}
	text := string(d.data[start:d.at])
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Value{}, fmt.Errorf("number %s: %w", text, err)
	}
	return Value{kind: Number, num: f, text: text}, nil
}

// text reads a string, whose first quote is next.
func (d *decoder) text() (string, error) {
	start := d.at
	escaped := false
	for d.at++; d.data[d.at] != '"'; d.at++ {
		if d.data[d.at] == '\\' {
			escaped = true
			d.at++
		}
	}
	d.at++
	if inner := d.data[start+1 : d.at-1]; !escaped && utf8.Valid(inner) {
		return string(inner), nil
	}
	var text string
	err := json.Unmarshal(d.data[start:d.at], &text)
	return text, err
}

func (d *decoder) array(depth int) (Value, error) {
	var c composite
	for d.at++; d.next() != ']'; {
		v, err := d.value(depth)
		if err != nil {
			return Value{}, err
		}
		c.values = append(c.values, v)
	}
	d.at++
	return Value{kind: Array, sub: &c}, nil
}

// indexFrom is the number of members from which on an index finds duplicates.
const indexFrom = 16

func (d *decoder) object(depth int) (Value, error) {
	o := ObjectValue()
	var index map[string]int
	for d.at++; d.next() != '}'; {
		name, err := d.text()
		if err != nil {
			return Value{}, err
		}
		v, err := d.value(depth)
		if err != nil {
			return Value{}, err
		}
		i, found := index[name]
		if index == nil {
			i = o.position(name)
			found = i >= 0
		}
		if found {
			o.sub.values[i] = v
			continue
		}
		o.sub.names, o.sub.values = append(o.sub.names, name), append(o.sub.values, v)
		if index != nil {
			index[name] = o.Len() - 1
		} else if o.Len() == indexFrom {
			index = make(map[string]int, 2*indexFrom)
			for i, n := range o.sub.names {
				index[n] = i
			}
		}
	}
	d.at++
	return o, nil
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
