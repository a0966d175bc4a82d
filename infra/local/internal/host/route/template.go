// Package route matches request paths against the route templates of HTTP
// triggers, as ASP.NET Core does for the Functions host.
//
// Sources: Microsoft Learn, "Azure Functions HTTP trigger" (customize the HTTP
// endpoint) and "Routing in ASP.NET Core" (route templates, precedence).
//
// Not emulated: segments that mix text and parameters ("v{n}", "{a}.{b}"),
// default values and constraints with arguments; Parse refuses them.
package route

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A Template is a parsed route, such as "deliveryrequests/{id}/{*rest}". It is
// immutable.
type Template struct {
	text     string
	segments []segment
}

type segment struct {
	literal    string // lower case; "" for a parameter
	name       string
	constraint string
	optional   bool
	catchAll   bool
}

var parameter = regexp.MustCompile(`^\{(\*{0,2})([^{}/*?:=]+)(?::([^{}=?]+))?(\?)?\}$`)

var constraints = map[string]func(string) bool{
	"int":   func(s string) bool { _, err := strconv.ParseInt(s, 10, 32); return err == nil },
	"long":  func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err == nil },
	"bool":  func(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") },
	"guid":  regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`).MatchString,
	"alpha": regexp.MustCompile(`^[A-Za-z]*$`).MatchString,
}

// Parse reads a template. The empty template matches the empty path.
func Parse(text string) (Template, error) {
	t := Template{text: text}
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") {
		return t, fmt.Errorf("route %q must not begin with / or ~", text)
	}
	trimmed := strings.TrimSuffix(text, "/")
	if trimmed == "" {
		return t, nil
	}
	names := map[string]bool{}
	for part := range strings.SplitSeq(trimmed, "/") {
		if n := len(t.segments); n > 0 && (t.segments[n-1].catchAll || t.segments[n-1].optional) {
			return t, fmt.Errorf("route %q: only the last segment may be optional or a catch-all", text)
		}
		s, err := parseSegment(part)
		if err != nil {
			return t, fmt.Errorf("route %q: %w", text, err)
		}
		if key := strings.ToLower(s.name); s.literal == "" {
			if names[key] {
				return t, fmt.Errorf("route %q: parameter %q is used twice", text, s.name)
			}
			names[key] = true
		}
		t.segments = append(t.segments, s)
	}
	return t, nil
}

func parseSegment(part string) (segment, error) {
	if part == "" {
		return segment{}, fmt.Errorf("an empty segment")
	}
	if !strings.ContainsAny(part, "{}") {
		if strings.Contains(part, "?") {
			return segment{}, fmt.Errorf("segment %q: a literal must not contain a question mark", part)
		}
		return segment{literal: strings.ToLower(part)}, nil
	}
	m := parameter.FindStringSubmatch(part)
	if m == nil {
		return segment{}, fmt.Errorf("segment %q: want {name}, {name?}, {name:constraint} or {*name} alone between slashes", part)
	}
	s := segment{catchAll: m[1] != "", name: m[2], constraint: m[3], optional: m[4] != ""}
	if s.catchAll && s.optional {
		return s, fmt.Errorf("segment %q: a catch-all can't be optional", part)
	}
	if _, known := constraints[s.constraint]; s.constraint != "" && !known {
		return s, fmt.Errorf("segment %q: constraint %q is not emulated; use int, long, bool, guid or alpha", part, s.constraint)
	}
	return s, nil
}

// String is the template as written.
func (t Template) String() string { return t.text }

// Match reports whether the path (escaped, without prefix and leading slash)
// fits, and gives its parameters, unescaped. Literals are compared without
// regard to case, and one trailing slash is ignored, as ASP.NET Core does.
func (t Template) Match(path string) (map[string]string, bool) {
	path = strings.TrimSuffix(path, "/")
	var params map[string]string
	set := func(name, value string) {
		if params == nil {
			params = map[string]string{}
		}
		params[name] = value
	}
	for _, s := range t.segments {
		if s.catchAll {
			if strings.HasPrefix(path, "/") || strings.Contains(path, "//") {
				return nil, false // not even a catch-all takes an empty segment
			}
			rest, err := url.PathUnescape(path)
			if err != nil {
				return nil, false
			}
			set(s.name, rest)
			return params, true
		}
		part, rest, _ := strings.Cut(path, "/")
		if part == "" {
			return params, s.optional && path == ""
		}
		value, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		if s.literal == "" {
			if check := constraints[s.constraint]; check != nil && !check(value) {
				return nil, false
			}
			set(s.name, value)
		} else if strings.ToLower(value) != s.literal {
			return nil, false
		}
		path = rest
	}
	return params, path == ""
}

// rank orders segments for matching: literals first, then constrained
// parameters, parameters, catch-alls.
func (s segment) rank() int {
	switch {
	case s.literal != "":
		return 1
	case s.catchAll:
		return 4
	case s.constraint != "":
		return 2
	default:
		return 3
	}
}

// compare orders templates by precedence.
func compare(a, b Template) int {
	for i := range min(len(a.segments), len(b.segments)) {
		if d := a.segments[i].rank() - b.segments[i].rank(); d != 0 {
			return d
		}
	}
	return len(a.segments) - len(b.segments)
}

// shape is equal for templates that match the same paths.
func (t Template) shape() string {
	var b strings.Builder
	for _, s := range t.segments {
		fmt.Fprintf(&b, "/%s{%s,%t,%t}", s.literal, s.constraint, s.optional, s.catchAll)
	}
	return b.String()
}
