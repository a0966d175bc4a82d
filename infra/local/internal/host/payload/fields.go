package payload

import (
	"encoding/json"
	"strings"
	"time"
)

// Fields is an ordered JSON object whose names are compared without regard to
// case, as the host's binding data is. The zero value is empty and ready to
// use.
type Fields struct {
	list []field
}

type field struct {
	name  string
	value json.RawMessage
}

// Set sets a field. An existing one keeps its place and the case of its name.
// A nil value is left out, as the host leaves out null.
func (f *Fields) Set(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	for i := range f.list {
		if strings.EqualFold(f.list[i].name, name) {
			f.list[i].value = value
			return
		}
	}
	f.list = append(f.list, field{name, value})
}

// Get gives a field's value, or nil.
func (f *Fields) Get(name string) json.RawMessage {
	for _, e := range f.list {
		if strings.EqualFold(e.name, name) {
			return e.value
		}
	}
	return nil
}

// Len is the number of fields.
func (f *Fields) Len() int { return len(f.list) }

// append appends the fields in order as a JSON object. It writes them by hand: an
// encoder would compact what is encoded already, and escape it once more.
func (f *Fields) append(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	for i, e := range f.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if plain(e.name) {
			dst = append(append(append(dst, '"'), e.name...), '"')
		} else {
			name, err := marshal(e.name)
			if err != nil {
				return nil, err
			}
			dst = append(dst, name...)
		}
		dst = append(append(dst, ':'), e.value...)
	}
	return append(dst, '}'), nil
}

// size is about how long the text of the fields is.
func (f *Fields) size() (n int) {
	const quotesColonAndComma = 4
	for _, e := range f.list {
		n += len(e.name) + len(e.value) + quotesColonAndComma
	}
	return n
}

// texts sets fields by the host's last rule, in order; nil values (untyped or
// nil pointers) are left out.
func (f *Fields) texts(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1]
		if s, ok := value.(*string); ok && s == nil {
			continue
		}
		raw, err := Text(value)
		if err != nil {
			return err
		}
		f.Set(pairs[i].(string), raw)
	}
	return nil
}

// objects sets fields to plain JSON objects, in order.
func (f *Fields) objects(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		raw, err := Object(pairs[i+1])
		if err != nil {
			return err
		}
		f.Set(pairs[i].(string), raw)
	}
	return nil
}

// leak copies the top-level fields of a JSON object in text over the fields of
// the same name, as the host does with trigger values that are strings. What
// isn't a JSON object leaks nothing; arrays and nulls never do; scalars become
// strings as .NET converts them.
func (f *Fields) leak(text string) error {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") || !strings.HasSuffix(trimmed, "}") {
		return nil
	}
	names, values, err := topLevel(trimmed)
	if err != nil {
		return nil // text that only looks like JSON is an ordinary string to the host
	}
	for i, name := range names {
		raw, err := leaked(values[i])
		if err != nil {
			return err
		}
		f.Set(name, raw)
	}
	return nil
}

// topLevel reads the fields of a JSON object in order. Of equal names the last
// counts.
func topLevel(text string) (names []string, values []json.RawMessage, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		names, values = append(names, name.(string)), append(values, value)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if d.More() {
		return nil, nil, errTrailing
	}
	return names, values, nil
}

// leaked converts one leaked value: objects stay, everything else becomes a
// string, which is then JSON twice.
func leaked(value json.RawMessage) (json.RawMessage, error) {
	switch value[0] {
	case '{':
		return value, nil
	case '[', 'n':
		return nil, nil
	case 't':
		return Text("True")
	case 'f':
		return Text("False")
	case '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, err
		}
		return Text(isoDate(s))
	default:
		return Text(string(value))
	}
}

// isoDate rewrites text that Newtonsoft.Json takes for a date: it parses ISO
// 8601 text and prints it in the invariant culture, in UTC where the text has
// an offset.
func isoDate(s string) string {
	for _, layout := range []string{"2006-01-02T15:04:05.9999999Z07:00", dateTimeFraction} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Format("01/02/2006 15:04:05")
		}
	}
	return s
}
