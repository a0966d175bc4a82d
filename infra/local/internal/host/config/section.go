package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/timespan"
)

// A section is an object of host.json or function.json. Its getters note what
// is wrong as problems, and which names were asked for. Names are compared
// without regard to case, and numbers and booleans may be strings, as .NET
// configuration has it.
type section struct {
	place    string // for problems: "host.json: extensions.http"
	values   map[string]any
	asked    map[string]bool
	problems *Problems
}

func newSection(place string, values map[string]any, p *Problems) *section {
	return &section{place: place, values: values, asked: map[string]bool{}, problems: p}
}

func (s *section) addf(name, format string, args ...any) {
	s.problems.addf(s.place+"."+name, format, args...)
}

// get gives a value by name; null counts as absent.
func (s *section) get(name string) (any, bool) {
	s.asked[strings.ToLower(name)] = true
	for k, v := range s.values {
		if strings.EqualFold(k, name) && v != nil {
			return v, true
		}
	}
	return nil, false
}

// sub gives a nested section; an absent one is empty.
func (s *section) sub(name string) *section {
	values, _ := s.get(name)
	m, ok := values.(map[string]any)
	if values != nil && !ok {
		s.addf(name, "must be an object")
	}
	return newSection(s.place+"."+name, m, s.problems)
}

func (s *section) has(name string) bool {
	_, ok := s.get(name)
	return ok
}

func (s *section) text(name, fallback string) string {
	v, ok := s.get(name)
	if !ok {
		return fallback
	}
	t, ok := v.(string)
	if !ok {
		s.addf(name, "must be a string")
		return fallback
	}
	return t
}

func (s *section) boolean(name string, fallback bool) bool {
	v, ok := s.get(name)
	if !ok {
		return fallback
	}
	switch v := v.(type) {
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
			return b
		}
	}
	s.addf(name, "must be true or false")
	return fallback
}

// integer gives a whole number of at least least.
func (s *section) integer(name string, fallback, least int) int {
	v, ok := s.get(name)
	if !ok {
		return fallback
	}
	n := math.NaN()
	switch v := v.(type) {
	case float64:
		n = v
	case string:
		if parsed, err := strconv.Atoi(v); err == nil {
			n = float64(parsed)
		}
	}
	if n != math.Trunc(n) || n < float64(least) || n > math.MaxInt32 {
		s.addf(name, "must be a whole number of at least %d", least)
		return fallback
	}
	return int(n)
}

// duration gives a time span of at least least.
func (s *section) duration(name string, fallback, least time.Duration) time.Duration {
	text := s.text(name, "")
	if text == "" {
		return fallback
	}
	d, err := timespan.Parse(text)
	if err != nil {
		s.addf(name, "%v", err)
		return fallback
	}
	if d < least {
		s.addf(name, "must be at least %s", timespan.Format(least))
		return fallback
	}
	return d
}

// list gives strings: a JSON array, an object with the keys 0, 1, … (from
// overrides), or a string that holds a JSON array.
func (s *section) list(name string) []string {
	v, ok := s.get(name)
	if !ok {
		return nil
	}
	if text, isText := v.(string); isText {
		var out []string
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			s.addf(name, "must be an array of strings")
		}
		return out
	}
	var out []string
	for _, e := range elements(v) {
		text, ok := e.(string)
		if !ok {
			s.addf(name, "must be an array of strings")
			return nil
		}
		out = append(out, text)
	}
	return out
}

// elements gives the members of an array, or of an object whose keys are
// indices.
func elements(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		keys := make([]int, 0, len(v))
		for k := range v {
			if n, err := strconv.Atoi(k); err == nil {
				keys = append(keys, n)
			}
		}
		slices.Sort(keys)
		out := make([]any, len(keys))
		for i, k := range keys {
			out[i] = v[strconv.Itoa(k)]
		}
		return out
	default:
		return []any{v}
	}
}

// unknown names the values that nobody asked for.
func (s *section) unknown() []string {
	var out []string
	for name := range s.values {
		if !s.asked[strings.ToLower(name)] {
			out = append(out, fmt.Sprintf("%s.%s", s.place, name))
		}
	}
	slices.Sort(out)
	return out
}
