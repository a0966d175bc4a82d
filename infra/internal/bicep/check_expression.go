package bicep

import "slices"

// scope is the local variables that an expression may name. It is never
// changed, only extended.
type scope struct {
	names []string
	// sealed: in a user function, which knows its parameters alone.
	sealed bool
}

func (s scope) with(names ...string) scope {
	return scope{append(slices.Clone(s.names), names...), s.sealed}
}

func (c *checker) expressions(all []expr, s scope) {
	for _, e := range all {
		c.expression(e, s)
	}
}

// expression checks the names and functions in an expression, whether a
// deployment would come to it or not.
func (c *checker) expression(e expr, s scope) {
	switch e := e.(type) {
	case *literal:
	case *interpolation:
		c.expressions(e.exprs, s)
	case *identifier:
		c.name(e, s)
	case *access:
		c.access(e, s)
	case *index:
		c.expressions([]expr{e.of, e.key}, s)
	case *nonNull:
		c.expression(e.of, s)
	case *call:
		c.call(e, s)
	case *unary:
		c.expression(e.of, s)
	case *binary:
		c.expressions([]expr{e.left, e.right}, s)
	case *ternary:
		c.expressions([]expr{e.condition, e.yes, e.no}, s)
	case *array:
		c.expressions(e.items, s)
	case *object:
		c.object(e, s)
	case *spread:
		c.expression(e.of, s)
	case *loop:
		if c.loops != nil && !c.loops[e] {
			c.errorAt(e.Position, "a loop can't stand here: it may be the value of a declaration, or of a property of a resource or module")
		}
		c.expression(e.of, s)
		c.expression(e.body, s.with(e.item, e.index))
	case *conditional:
		c.expressions([]expr{e.condition, e.body}, s)
	case *lambda:
		c.expression(e.body, s.with(e.params...))
	}
}

func (c *checker) object(e *object, s scope) {
	seen := map[any]bool{}
	for _, m := range e.members {
		if m.key != nil {
			c.expression(m.key, s)
		}
		if key, ok := m.key.(*literal); ok {
			if seen[key.value] {
				c.errorAt(key.Position, "the property %v is there twice", key.value)
			}
			seen[key.value] = true
		}
		c.expression(m.value, s)
	}
}

func (c *checker) name(e *identifier, s scope) {
	if slices.Contains(s.names, e.name) {
		return
	}
	c.used[e.name] = true
	switch {
	case s.sealed:
		c.errorAt(e.Position, "a function knows its parameters alone, not %s", e.name)
	case c.names[e.name] == nil && c.wildcards[e.name] == nil:
		c.errorAt(e.Position, "there is no %s", e.name)
	}
}

// access checks of.name where of is an import, or the outputs of a module.
func (c *checker) access(e *access, s scope) {
	c.expression(e.of, s)
	if id, ok := e.of.(*identifier); ok && c.wildcards[id.name] != nil && !slices.Contains(s.names, id.name) {
		if i := c.wildcards[id.name]; c.program.exported(c.file, i, e.name) == nil {
			c.errorAt(e.Position, "%s does not export %s", i.path, e.name)
		}
	}
	outputs, ok := e.of.(*access)
	if !ok || outputs.name != "outputs" {
		return
	}
	d := c.moduleOf(outputs.of)
	if d != nil && c.program.files[beside(c.file.path, d.source)].declared(e.name, Output) == nil {
		c.errorAt(e.Position, "the module %s has no output %s", d.name, e.name)
	}
}

// moduleOf is the module that an expression such as m, m! or m[0] names.
func (c *checker) moduleOf(e expr) *declaration {
	switch e := e.(type) {
	case *identifier:
		if d := c.names[e.name]; d != nil && d.kind == Module {
			return d
		}
	case *nonNull:
		return c.moduleOf(e.of)
	case *index:
		return c.moduleOf(e.of)
	}
	return nil
}

func (c *checker) call(e *call, s scope) {
	c.expressions(e.args, s)
	namespace, _ := e.of.(*identifier)
	switch {
	case e.of == nil || namespace != nil && (namespace.name == "sys" || namespace.name == "az") && c.names[namespace.name] == nil:
		c.function(e)
	case namespace != nil && c.wildcards[namespace.name] != nil:
		c.used[namespace.name] = true
		if i := c.wildcards[namespace.name]; c.program.exported(c.file, i, e.name) == nil {
			c.errorAt(e.Position, "%s does not export %s", i.path, e.name)
		}
	default: // a method of a resource
		c.expression(e.of, s)
		if !isListFunction(e.name) && e.name != "getSecret" {
			c.errorAt(e.Position, "there is no method %s", e.name)
		}
	}
}

func (c *checker) function(e *call) {
	c.used[e.name] = true
	if d := c.funcs[e.name]; d != nil && e.of == nil {
		if len(e.args) != len(d.params) {
			c.errorAt(e.Position, "%s takes %d arguments, not %d", e.name, len(d.params), len(e.args))
		}
		return
	}
	b, ok := builtins[e.name]
	switch {
	case !ok:
		c.errorAt(e.Position, "there is no function %s", e.name)
	case len(e.args) < b.from || b.to >= 0 && len(e.args) > b.to:
		c.errorAt(e.Position, "%s does not take %d arguments", e.name, len(e.args))
	}
}

// moduleCall holds the params of a module to those that its file declares.
func (c *checker) moduleCall(d *declaration) {
	body := bodyOf(d.value)
	if body == nil {
		return
	}
	f := c.program.files[beside(c.file.path, d.source)]
	given, open := map[string]bool{}, false
	for _, m := range body.members {
		key, ok := m.key.(*literal)
		if !ok || key.value != "params" {
			continue
		}
		params, ok := m.value.(*object)
		if !ok {
			open = true // worked out when it is deployed
			continue
		}
		for _, p := range params.members {
			key, ok := p.key.(*literal)
			if !ok {
				open = true
				continue
			}
			given[key.value.(string)] = true
			if f.declared(key.value.(string), Param) == nil {
				c.errorAt(key.Position, "the module %s has no param %v", d.name, key.value)
			}
		}
	}
	for _, p := range f.declarations {
		if p.kind == Param && p.value == nil && p.of.kind != nullableType && !given[p.name] && !open {
			c.errorAt(d.at, "the module %s lacks the param %s", d.name, p.name)
		}
	}
}

// bodyOf is the object inside of loops and conditions.
func bodyOf(e expr) *object {
	switch e := e.(type) {
	case *object:
		return e
	case *loop:
		return bodyOf(e.body)
	case *conditional:
		return bodyOf(e.body)
	}
	return nil
}
