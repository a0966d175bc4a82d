package sql

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects in a document
// (Microsoft Learn, "Azure Cosmos DB service quotas": 128 levels).
const MaxDepth = 128

// Decode reads one JSON text. Numbers keep their source text, members keep their
// order; of members with the same name the last one counts.
func Decode(data []byte) (Value, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(data))}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Value{}, fmt.Errorf("decode JSON at byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, fmt.Errorf("decode JSON at byte %d: more than one value", d.InputOffset())
	}
	return v, nil
}

type decoder struct{ *json.Decoder }

func (d decoder) value(depth int) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case nil:
		return NullValue(), nil
	case bool:
		return BoolValue(t), nil
	case string:
		return StringValue(t), nil
	case json.Number:
		f, err := t.Float64()
		if err != nil {
			return Value{}, fmt.Errorf("number %s: %w", t, err)
		}
		return Value{kind: Number, num: f, text: t.String()}, nil
	}
	if depth >= MaxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	if token == json.Delim('[') {
		return d.array(depth + 1)
	}
	return d.object(depth + 1)
}

func (d decoder) array(depth int) (Value, error) {
	var c composite
	for d.More() {
		v, err := d.value(depth)
		if err != nil {
			return Value{}, err
		}
		c.values = append(c.values, v)
	}
	_, err := d.Token()
	return Value{kind: Array, sub: &c}, err
}

// indexFrom is the number of members from which on an index finds duplicates.
const indexFrom = 16

func (d decoder) object(depth int) (Value, error) {
	o := ObjectValue()
	var index map[string]int
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, ok := token.(string)
		if !ok {
			return Value{}, fmt.Errorf("member name is %v", token)
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
	_, err := d.Token()
	return o, err
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
