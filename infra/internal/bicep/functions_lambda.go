package bicep

import "slices"

// lambdaFunctions are of Microsoft Learn, "Lambda functions for Bicep".
var lambdaFunctions = map[string]builtin{
	"map": {2, 2, func(c *invocation) any {
		out, fn := []any{}, c.lambda(1)
		for i, item := range c.list(0) {
			out = append(out, fn(item, int64(i)))
		}
		return out
	}},
	"filter": {2, 2, func(c *invocation) any {
		out, fn := []any{}, c.lambda(1)
		for i, item := range c.list(0) {
			if c.yes(fn(item, int64(i))) {
				out = append(out, item)
			}
		}
		return out
	}},
	"reduce": {3, 3, func(c *invocation) any {
		out, fn := c.args[1], c.lambda(2)
		for i, item := range c.list(0) {
			out = fn(out, item, int64(i))
		}
		return out
	}},
	"sort": {2, 2, func(c *invocation) any {
		out, before := slices.Clone(c.list(0)), c.lambda(1)
		slices.SortStableFunc(out, func(a, b any) int {
			switch {
			case c.yes(before(a, b)):
				return -1
			case c.yes(before(b, a)):
				return 1
			}
			return 0
		})
		return out
	}},
	"toObject": {2, 3, func(c *invocation) any {
		out, key := map[string]any{}, c.lambda(1)
		value := func(values ...any) any { return values[0] }
		if len(c.args) == 3 {
			value = c.lambda(2)
		}
		for _, item := range c.list(0) {
			name, _ := textOf(c.at, key(item))
			out[name] = value(item)
		}
		return out
	}},
	"mapValues": {2, 2, func(c *invocation) any {
		out, fn := map[string]any{}, c.lambda(1)
		for key, value := range c.object(0) {
			out[key] = fn(value)
		}
		return out
	}},
	"groupBy": {2, 2, func(c *invocation) any {
		out, key := map[string]any{}, c.lambda(1)
		for _, item := range c.list(0) {
			name, _ := textOf(c.at, key(item))
			group, _ := out[name].([]any)
			out[name] = append(group, item)
		}
		return out
	}},
}

func (c *invocation) yes(v any) bool {
	b, ok := v.(bool)
	if !ok {
		c.fail("the lambda must give a bool, not %s", kindOf(v))
	}
	return b
}
