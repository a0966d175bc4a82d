package problem

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Faults collects all that is wrong with a body, at most one fault per part.
// The zero value is ready. It is not safe for concurrent use.
type Faults struct{ fields []Field }

// DecodeAll reads a JSON body into the struct that into points to, whose leaves
// are to be pointers to strings, numbers and booleans. Unlike Decode it
// reads on behind a fault, so that the caller can add its own to the same list.
// The error is for a body that is no JSON at all.
func DecodeAll(data []byte, into any) (*Faults, error) {
	faults, p := decode(data, reflect.ValueOf(into).Elem())
	if p != nil {
		return nil, p
	}
	return &Faults{fields: faults}, nil
}

// Err returns nil if nothing is wrong, and else a *Problem that lists
// all faults.
func (f *Faults) Err() error {
	if len(f.fields) == 0 {
		return nil
	}
	p := New(Invalid, "")
	p.Errors = f.fields
	return p
}

// Add notes a fault, unless that part or one around it has one already.
func (f *Faults) Add(pointer, format string, args ...any) {
	if f.Has(pointer) {
		return
	}
	f.fields = append(f.fields, Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// Has reports whether a fault is noted for that part or one around it.
func (f *Faults) Has(pointer string) bool {
	return slices.ContainsFunc(f.fields, func(field Field) bool {
		return field.Pointer == pointer || strings.HasPrefix(pointer, field.Pointer+"/")
	})
}

// Number returns a required number from low to high.
func (f *Faults) Number(pointer string, number *float64, low, high float64) float64 {
	switch {
	case number == nil:
		f.Add(pointer, "is required")
		return 0
	case !(low <= *number && *number <= high): // false for NaN, too
		f.Add(pointer, "must be from %g to %g", low, high)
		return 0
	}
	return *number + 0 // -0 and 0 are one number and get one hash
}

// Positive returns a required number greater than 0.
func (f *Faults) Positive(pointer string, number *float64) float64 {
	switch {
	case number == nil:
		f.Add(pointer, "is required")
		return 0
	case !(*number > 0):
		f.Add(pointer, "must be greater than 0")
		return 0
	}
	return *number
}

// ID returns a required id.
func (f *Faults) ID(pointer string, id *string) string {
	switch {
	case id == nil:
		f.Add(pointer, "is required")
		return ""
	case !ValidID(*id):
		f.Add(pointer, IDRule)
		return ""
	}
	return *id
}

// Text returns an optional text of up to limit characters, "" if it is missing.
func (f *Faults) Text(pointer string, text *string, limit int) string {
	if text == nil {
		return ""
	}
	if utf8.RuneCountInString(*text) > limit {
		f.Add(pointer, "must have up to %d characters", limit)
		return ""
	}
	return *text
}

// OneOf returns a text that must be one of names. If it is missing, missing
// takes its place; without one it is required.
func (f *Faults) OneOf(pointer string, text *string, names []string, missing string) string {
	switch {
	case text == nil && missing == "":
		f.Add(pointer, "is required")
		return ""
	case text == nil:
		return missing
	case !slices.Contains(names, *text):
		f.Add(pointer, "must be one of %s", strings.Join(names, ", "))
		return ""
	}
	return *text
}

// Time returns a required time of the years 1970 to 9998, in UTC.
func (f *Faults) Time(pointer string, text *string) time.Time {
	if text == nil {
		f.Add(pointer, "is required")
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		f.Add(pointer, "must be a time as in RFC 3339, such as 2026-01-31T16:00:00Z")
		return time.Time{}
	}
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9998 {
		f.Add(pointer, "must be in the years 1970 to 9998")
		return time.Time{}
	}
	return t
}
