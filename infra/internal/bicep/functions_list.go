package bicep

import (
	"maps"
	"slices"
	"strings"
)

// maxRange bounds range.
const maxRange = 10_000

var listFunctions = map[string]builtin{
	"concat":       {1, -1, concat},
	"join":         {2, 2, join},
	"contains":     {2, 2, contains},
	"empty":        {1, 1, func(c *invocation) any { return c.args[0] == nil || length(c) == 0 }},
	"length":       {1, 1, func(c *invocation) any { return length(c) }},
	"first":        {1, 1, func(c *invocation) any { return end(c, 0) }},
	"last":         {1, 1, func(c *invocation) any { return end(c, -1) }},
	"take":         onText(2, 2, func(c *invocation) any { return part(c, 0, c.number(1)) }),
	"skip":         onText(2, 2, func(c *invocation) any { return part(c, c.number(1), length(c)) }),
	"union":        {1, -1, union},
	"intersection": {2, -1, intersection},
	"flatten":      {1, 1, flatten},
	"range":        {2, 2, numbers},
	"min":          {1, -1, func(c *invocation) any { return extreme(c, slices.Min[[]int64]) }},
	"max":          {1, -1, func(c *invocation) any { return extreme(c, slices.Max[[]int64]) }},
	"array":        {1, 1, toArray},
	"indexOf":      {2, 2, func(c *invocation) any { return find(c, strings.Index) }},
	"lastIndexOf":  {2, 2, func(c *invocation) any { return find(c, strings.LastIndex) }},
	"items":        {1, 1, items},
	"objectKeys":   {1, 1, func(c *invocation) any { return anys(slices.Sorted(maps.Keys(c.object(0)))) }},
	"coalesce":     {1, -1, coalesce},
	"any":          {1, 1, func(c *invocation) any { return c.args[0] }},
}

func concat(c *invocation) any {
	if _, lists := c.args[0].([]any); lists {
		out := []any{}
		for i := range c.args {
			out = append(out, c.list(i)...)
		}
		return out
	}
	out, known := "", true
	for _, a := range c.args {
		text, ok := textOf(c.at, a)
		out += text
		known = known && ok
	}
	if !known {
		return Symbol(out)
	}
	return out
}

func join(c *invocation) any {
	out, known := "", true
	for i, item := range c.list(0) {
		text, ok := textOf(c.at, item)
		if i > 0 {
			out += c.text(1)
		}
		out += text
		known = known && ok
	}
	if !known {
		return Symbol(out)
	}
	return out
}

func contains(c *invocation) any {
	switch in := c.args[0].(type) {
	case string:
		text, _ := textOf(c.at, c.args[1])
		return strings.Contains(in, text)
	case map[string]any:
		_, ok := in[c.text(1)]
		return ok
	case []any:
		return slices.ContainsFunc(in, func(item any) bool { return equal(c.at, item, c.args[1]) })
	}
	c.fail("%s contains nothing", kindOf(c.args[0]))
	return nil
}

func length(c *invocation) int64 {
	switch v := c.args[0].(type) {
	case string:
		return int64(len(v))
	case []any:
		return int64(len(v))
	case map[string]any:
		return int64(len(v))
	case collection:
		return int64(len(v))
	}
	c.fail("the length of %s is not known", kindOf(c.args[0]))
	return 0
}

// end is the first item or character, or with -1 the last.
func end(c *invocation, at int) any {
	n := int(length(c))
	if n == 0 {
		if _, ok := c.args[0].(string); ok {
			return ""
		}
		return nil
	}
	if at < 0 {
		at = n - 1
	}
	if s, ok := c.args[0].(string); ok {
		return s[at : at+1]
	}
	return c.list(0)[at]
}

func part(c *invocation, from, to int64) any {
	n := length(c)
	from, to = min(max(from, 0), n), min(max(to, 0), n)
	if s, ok := c.args[0].(string); ok {
		return s[from:to]
	}
	return slices.Clone(c.list(0)[from:to])
}

func union(c *invocation) any {
	if _, lists := c.args[0].([]any); lists {
		out := []any{}
		for i := range c.args {
			for _, item := range c.list(i) {
				if !slices.ContainsFunc(out, func(o any) bool { return equal(c.at, o, item) }) {
					out = append(out, item)
				}
			}
		}
		return out
	}
	out := map[string]any{}
	for i := range c.args {
		out = merge(out, c.object(i))
	}
	return out
}

// merge is a with b over it; objects in both are merged in turn.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for key, value := range b {
		inner, ok := value.(map[string]any)
		if before, both := out[key].(map[string]any); ok && both {
			value = merge(before, inner)
		}
		out[key] = value
	}
	return out
}

func intersection(c *invocation) any {
	out := slices.Clone(c.list(0))
	for i := range c.args {
		other := c.list(i)
		out = slices.DeleteFunc(out, func(o any) bool {
			return !slices.ContainsFunc(other, func(item any) bool { return equal(c.at, o, item) })
		})
	}
	return out
}

func flatten(c *invocation) any {
	out := []any{}
	for _, item := range c.list(0) {
		list, ok := item.([]any)
		if !ok {
			c.fail("an item is %s, not an array", kindOf(item))
		}
		out = append(out, list...)
	}
	return out
}

func numbers(c *invocation) any {
	from, n := c.number(0), c.number(1)
	if n < 0 || n > maxRange {
		c.fail("%d is no number of items from 0 to %d", n, maxRange)
	}
	out := []any{}
	for i := range n {
		out = append(out, from+i)
	}
	return out
}

func extreme(c *invocation, of func([]int64) int64) any {
	list := c.args
	if l, ok := c.args[0].([]any); ok {
		list = l
	}
	var all []int64
	for _, item := range list {
		n, ok := item.(int64)
		if !ok {
			c.fail("%s is no int", kindOf(item))
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		c.fail("there are no items")
	}
	return of(all)
}

func toArray(c *invocation) any {
	if list, ok := c.args[0].([]any); ok {
		return list
	}
	return []any{c.args[0]}
}

func find(c *invocation, in func(s, part string) int) any {
	if list, ok := c.args[0].([]any); ok {
		return int64(slices.IndexFunc(list, func(item any) bool { return equal(c.at, item, c.args[1]) }))
	}
	return int64(in(lower(c.text(0)), lower(c.text(1))))
}

func items(c *invocation) any {
	out := []any{}
	o := c.object(0)
	for _, key := range slices.Sorted(maps.Keys(o)) {
		out = append(out, map[string]any{"key": key, "value": o[key]})
	}
	return out
}

func coalesce(c *invocation) any {
	for _, a := range c.args {
		if a != nil {
			return a
		}
	}
	return nil
}
