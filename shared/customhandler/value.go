package customhandler

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Metadata is what the trigger knows of an event, as the host encodes it:
// objects and instants once, everything else as JSON text inside a JSON string
// (the host's GetHttpScriptInvocationContextValue). So a string comes encoded
// twice, a number as "1", an array as "[...]". The accessors take every level
// of encoding that was seen, and report what they can't read.
//
// With dataType string and cardinality one, a JSON payload could overwrite
// entries; all functions here have binary payloads, where it can't.
type Metadata map[string]json.RawMessage

// Has reports whether there is an entry that isn't null.
func (m Metadata) Has(name string) bool {
	raw, ok := m[name]
	return ok && string(raw) != "null"
}

// String returns a text.
func (m Metadata) String(name string) (string, error) {
	if !m.Has(name) {
		return "", fmt.Errorf("metadata %s %w", name, ErrMissing)
	}
	return plain(m[name]), nil
}

// Int returns a whole number. Offsets and sequence numbers are numbers with
// older extensions and strings with newer ones: both are read.
func (m Metadata) Int(name string) (int64, error) {
	text, err := m.String(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("metadata %s: %w", name, err)
	}
	return n, nil
}

// Time returns an instant in UTC. The host drops the zone of the ones that end
// in Utc, and the fractions of those that are not in arrays.
func (m Metadata) Time(name string) (time.Time, error) {
	text, err := m.String(name)
	if err != nil {
		return time.Time{}, err
	}
	at, err := instant(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("metadata %s: %w", name, err)
	}
	return at, nil
}

// Object returns a JSON object.
func (m Metadata) Object(name string) (map[string]json.RawMessage, error) {
	if !m.Has(name) {
		return nil, fmt.Errorf("metadata %s %w", name, ErrMissing)
	}
	object, err := object(m[name])
	if err != nil {
		return nil, fmt.Errorf("metadata %s: %w", name, err)
	}
	return object, nil
}

// Ints returns an array of whole numbers.
func (m Metadata) Ints(name string) ([]int64, error) {
	return array(m, name, func(raw json.RawMessage) (int64, error) { return strconv.ParseInt(plain(raw), 10, 64) })
}

// Times returns an array of instants in UTC.
func (m Metadata) Times(name string) ([]time.Time, error) {
	return array(m, name, func(raw json.RawMessage) (time.Time, error) { return instant(plain(raw)) })
}

// Objects returns an array of JSON objects; a null in it is an empty one.
func (m Metadata) Objects(name string) ([]map[string]json.RawMessage, error) {
	return array(m, name, object)
}

func array[T any](m Metadata, name string, read func(json.RawMessage) (T, error)) ([]T, error) {
	if !m.Has(name) {
		return nil, fmt.Errorf("metadata %s %w", name, ErrMissing)
	}
	items, err := elements(m[name])
	if err != nil {
		return nil, fmt.Errorf("metadata %s: %w", name, err)
	}
	values := make([]T, len(items))
	for i, item := range items {
		if values[i], err = read(item); err != nil {
			return nil, fmt.Errorf("metadata %s, element %d: %w", name, i, err)
		}
	}
	return values, nil
}

// plain removes up to two levels of string encoding, and leaves anything that
// is no string as it is written.
func plain(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return string(raw)
	}
	if inner, ok := unquote(text); ok {
		return inner
	}
	return text
}

// unquote reads a text that is itself a JSON string.
func unquote(text string) (inner string, ok bool) {
	return inner, strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &inner) == nil
}

// elements returns the elements of an array, wrapped in a string or not.
func elements(raw json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(plain(raw)), &items); err != nil {
		return nil, fmt.Errorf("is not an array: %w", err)
	}
	return items, nil
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(plain(raw)), &fields); err != nil {
		return nil, fmt.Errorf("is not an object: %w", err)
	}
	return fields, nil
}

// instant reads a time with or without a zone, and without one as UTC.
func instant(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && strings.Contains(text, "T") {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil {
		return time.Time{}, err
	}
	return at.UTC(), nil
}
