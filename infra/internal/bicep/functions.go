package bicep

import (
	"strings"
)

// builtin is a function of the namespaces sys and az (Microsoft Learn, "Bicep
// functions").
type builtin struct {
	from, to int // how many arguments; to -1: any number
	run      func(*invocation) any
}

// builtins is set at the start, since lambdas call functions in turn.
var builtins map[string]builtin

func init() {
	builtins = map[string]builtin{}
	for _, group := range []map[string]builtin{textFunctions, listFunctions, lambdaFunctions, scopeFunctions, fileFunctions} {
		for name, b := range group {
			builtins[name] = b
		}
	}
}

// isListFunction tells the functions that give keys, such as listKeys.
func isListFunction(name string) bool {
	return strings.HasPrefix(name, "list") && len(name) > len("list")
}

// invocation is one call of a built-in function.
type invocation struct {
	env   *environment
	at    Position
	name  string
	args  []any
	exprs []expr
}

func (c *invocation) fail(format string, args ...any) {
	fail(c.at, c.name+": "+format, args...)
}

func (c *invocation) text(i int) string {
	s, ok := c.args[i].(string)
	if !ok {
		c.fail("argument %d must be a string, not %s", i+1, kindOf(c.args[i]))
	}
	return s
}

func (c *invocation) number(i int) int64 {
	n, ok := c.args[i].(int64)
	if !ok {
		c.fail("argument %d must be an int, not %s", i+1, kindOf(c.args[i]))
	}
	return n
}

func (c *invocation) list(i int) []any {
	l, ok := c.args[i].([]any)
	if !ok {
		c.fail("argument %d must be an array, not %s", i+1, kindOf(c.args[i]))
	}
	return l
}

func (c *invocation) object(i int) map[string]any {
	o, ok := c.args[i].(map[string]any)
	if !ok {
		c.fail("argument %d must be an object, not %s", i+1, kindOf(c.args[i]))
	}
	return o
}

// lambda returns argument i as a function; a lambda takes as many of the
// values as it names.
func (c *invocation) lambda(i int) func(values ...any) any {
	l, ok := c.args[i].(*closure)
	if !ok {
		c.fail("argument %d must be a lambda, not %s", i+1, kindOf(c.args[i]))
	}
	return func(values ...any) any {
		if len(l.params) > len(values) {
			c.fail("the lambda takes %d parameters; there are %d", len(l.params), len(values))
		}
		return l.env.with(l.params, values).value(l.body)
	}
}

// isSymbolic reports whether an argument's text is known to the deployment only.
func (c *invocation) isSymbolic() bool {
	for _, a := range c.args {
		if _, ok := a.(Symbol); ok {
			return true
		}
	}
	return false
}

// symbol is the call as a symbol.
func (c *invocation) symbol() Symbol {
	texts := make([]string, len(c.args))
	for i, a := range c.args {
		texts[i], _ = textOf(c.at, a)
	}
	return Symbol("<" + c.name + "(" + strings.Join(texts, ",") + ")>")
}

// onText is a function whose result is a symbol when an argument is.
func onText(from, to int, run func(*invocation) any) builtin {
	return builtin{from, to, func(c *invocation) any {
		if c.isSymbolic() {
			return c.symbol()
		}
		return run(c)
	}}
}
