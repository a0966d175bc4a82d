// Package problem is how every HTTP function here refuses: by the problem
// details of RFC 9457. It also reads JSON bodies strictly, which causes most
// refusals.
//
// Reading order: problem.go (the value and its JSON), types.go (the types),
// write.go (the answer), from.go (from an error), read.go and decoder.go (from a
// body), faults.go and id.go (what is wrong with the fields of one).
package problem

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is a problem details object (RFC 9457, section 3). The zero value is
// not useful: use New or fill Type and Status. *Problem is an error, so that it
// can travel through code that knows nothing of HTTP, wrapped with %w.
type Problem struct {
	// Type is one of the short relative references of types.go, or one that a
	// backend documents next to them. Empty means "about:blank".
	Type string
	// Title is the same for every occurrence of Type.
	Title  string
	Status int // HTTP, 400 to 599
	// Detail is for the people behind the client. It holds nothing of the
	// system's inside.
	Detail string
	// Instance names the occurrence; Write fills in the path of the request.
	Instance string
	// Errors lists what is wrong with the parts of the body, if that is it.
	Errors []Field
	// RetryAfter becomes the header Retry-After, in whole seconds rounded up,
	// and no member. Zero means no header.
	RetryAfter time.Duration
	// Extensions are further members. They can't replace the ones above.
	Extensions map[string]any
}

// Field is one fault in a body.
type Field struct {
	// Pointer is the JSON pointer (RFC 6901) of the faulty part; "" is the
	// whole body.
	Pointer string `json:"pointer"`
	// Detail says what is wrong and what is allowed.
	Detail string `json:"detail"`
}

// New returns a problem of a listed type with that type's status and title.
// The detail is formatted as fmt.Sprintf does.
func New(t Type, format string, args ...any) *Problem {
	return &Problem{Type: t.ID, Title: t.Title, Status: t.Status, Detail: fmt.Sprintf(format, args...)}
}

// OneOf returns what is wrong with a query parameter that has none of its values.
func OneOf[T ~string](parameter string, names []T) error {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = string(name)
	}
	return New(Invalid, "query parameter %s must be one of %s", parameter, strings.Join(list, ", "))
}

// Error returns the status, the title and the detail.
func (p *Problem) Error() string {
	s := fmt.Sprintf("%d %s", p.Status, p.Title)
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	for _, f := range p.Errors {
		s += fmt.Sprintf("; %s %s", f.Pointer, f.Detail)
	}
	return s
}

// members are the members that RFC 9457 defines, and errors, which its section
// 3 uses for validation.
type members struct {
	Type     string  `json:"type"`
	Title    string  `json:"title,omitempty"`
	Status   int     `json:"status,omitempty"`
	Detail   string  `json:"detail,omitempty"`
	Instance string  `json:"instance,omitempty"`
	Errors   []Field `json:"errors,omitempty"`
}

var reserved = []string{"type", "title", "status", "detail", "instance", "errors"}

// MarshalJSON writes the members and the extensions side by side.
func (p Problem) MarshalJSON() ([]byte, error) {
	if p.Type == "" {
		p.Type = "about:blank"
	}
	own, err := json.Marshal(members{p.Type, p.Title, p.Status, p.Detail, p.Instance, p.Errors})
	if err != nil {
		return nil, fmt.Errorf("encode problem %s: %w", p.Type, err)
	}
	extra := make(map[string]any, len(p.Extensions))
	for name, value := range p.Extensions {
		if !slices.Contains(reserved, name) {
			extra[name] = value
		}
	}
	if len(extra) == 0 {
		return own, nil
	}
	more, err := json.Marshal(extra)
	if err != nil {
		return nil, fmt.Errorf("encode the extensions of problem %s: %w", p.Type, err)
	}
	return append(append(own[:len(own)-1], ','), more[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON writes. Extensions get the types of
// encoding/json; a member of a wrong type is an error.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var own members
	if err := json.Unmarshal(data, &own); err != nil {
		return fmt.Errorf("decode problem: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("decode problem: %w", err)
	}
	for _, name := range reserved {
		delete(all, name)
	}
	*p = Problem{Type: own.Type, Title: own.Title, Status: own.Status,
		Detail: own.Detail, Instance: own.Instance, Errors: own.Errors}
	if len(all) > 0 {
		p.Extensions = all
	}
	return nil
}
