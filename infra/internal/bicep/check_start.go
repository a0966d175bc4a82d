package bicep

import "slices"

// starting reports expressions that must be known when a deployment starts and
// are not: names, conditions and what loops run over (Microsoft Learn, "Bicep
// warning and error codes", BCP120, BCP177, BCP178).
func (c *checker) starting(d *declaration) {
	local := scope{}
	var look func(e expr)
	look = func(e expr) {
		switch e := e.(type) {
		case *loop:
			c.start(e.of, "what a loop runs over", local, nil)
			local = local.with(e.item, e.index)
			look(e.body)
		case *conditional:
			c.start(e.condition, "a condition", local, nil)
			look(e.body)
		case *object:
			if name := e.property("name"); name != nil {
				c.start(name, "a name", local, nil)
			}
		}
	}
	look(d.value)
}

// start reports the first part of e, or of the variables in it, that is not
// known at the start.
func (c *checker) start(e expr, what string, local scope, seen []string) {
	switch e := e.(type) {
	case *access:
		id, ok := e.of.(*identifier)
		if i, indexed := e.of.(*index); indexed {
			id, ok = i.of.(*identifier)
		}
		if d := c.late(id, ok, local); d != nil {
			if !slices.Contains([]string{"id", "name", "type", "apiVersion"}, e.name) {
				c.errorAt(e.Position, "%s must be known when the deployment starts, and %s.%s is not", what, d.name, e.name)
			}
			return
		}
	case *identifier:
		d := c.names[e.name]
		if d == nil || d.kind != Var || slices.Contains(local.names, e.name) || slices.Contains(seen, e.name) {
			return
		}
		c.start(d.value, what, scope{}, append(seen, e.name))
		return
	case *call:
		if id, ok := e.of.(*identifier); ok && c.late(id, true, local) != nil {
			c.errorAt(e.Position, "%s must be known when the deployment starts, and the result of %s is not", what, e.name)
		}
	}
	for _, part := range partsOf(e) {
		c.start(part, what, local, seen)
	}
}

// late is the resource or module that a name means.
func (c *checker) late(id *identifier, ok bool, local scope) *declaration {
	if !ok || slices.Contains(local.names, id.name) {
		return nil
	}
	if d := c.names[id.name]; d != nil && (d.kind == Res || d.kind == Module) {
		return d
	}
	return nil
}

// partsOf are the expressions inside an expression.
func partsOf(e expr) []expr {
	switch e := e.(type) {
	case *interpolation:
		return e.exprs
	case *access:
		return []expr{e.of}
	case *index:
		return []expr{e.of, e.key}
	case *nonNull:
		return []expr{e.of}
	case *call:
		return e.args
	case *unary:
		return []expr{e.of}
	case *binary:
		return []expr{e.left, e.right}
	case *ternary:
		return []expr{e.condition, e.yes, e.no}
	case *array:
		return e.items
	case *object:
		var out []expr
		for _, m := range e.members {
			out = append(out, m.value)
		}
		return out
	case *spread:
		return []expr{e.of}
	case *loop:
		return []expr{e.of, e.body}
	case *lambda:
		return []expr{e.body}
	}
	return nil
}
