package route

import (
	"fmt"
	"slices"
	"strings"
)

// A Table finds the value that serves a method and path. Fill it first; after
// the last Add it is safe for concurrent use.
type Table[T any] struct {
	entries []entry[T]
}

type entry[T any] struct {
	template Template
	methods  []string
	value    T
}

// Add enters a route. No methods means every method. It returns an error when
// an earlier route has the same shape and one of its methods, where the real
// host would silently serve the first.
func (t *Table[T]) Add(template Template, methods []string, value T) error {
	e := entry[T]{template: template, value: value}
	for _, m := range methods {
		e.methods = append(e.methods, strings.ToUpper(m))
	}
	for _, other := range t.entries {
		if other.template.shape() == template.shape() && other.overlaps(e) {
			return fmt.Errorf("route %q serves a method that route %q serves, too", template, other.template)
		}
	}
	t.entries = append(t.entries, e)
	slices.SortStableFunc(t.entries, func(a, b entry[T]) int { return compare(a.template, b.template) })
	return nil
}

// Lookup finds the best route for a method and an escaped path without prefix
// and leading slash. A route of another method doesn't count: the Functions
// host treats the method as a route constraint and answers 404, not 405
// (azure-functions-host issue 10098).
func (t *Table[T]) Lookup(method, path string) (value T, params map[string]string, ok bool) {
	for _, e := range t.entries {
		if !e.serves(method) {
			continue
		}
		if params, ok := e.template.Match(path); ok {
			return e.value, params, true
		}
	}
	return value, nil, false
}

func (e entry[T]) serves(method string) bool {
	return len(e.methods) == 0 || slices.Contains(e.methods, method)
}

func (e entry[T]) overlaps(other entry[T]) bool {
	return len(e.methods) == 0 || len(other.methods) == 0 || slices.ContainsFunc(e.methods, other.serves)
}
