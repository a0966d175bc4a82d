package bicep

import "maps"

// environment is where an expression is evaluated: a file with its parameters,
// and local variables.
type environment struct {
	*frame
	locals map[string]any
	// inside is the resource whose body this is, for the names of its children.
	inside *instance
}

func (e *environment) with(names []string, values []any) *environment {
	locals := map[string]any{}
	maps.Copy(locals, e.locals)
	for i, name := range names {
		if name != "" {
			locals[name] = values[i]
		}
	}
	return &environment{e.frame, locals, e.inside}
}

func (e *environment) value(x expr) any {
	e.step(x.pos())
	switch x := x.(type) {
	case *literal:
		return x.value
	case *interpolation:
		return e.interpolated(x)
	case *identifier:
		return e.named(x)
	case *access:
		return e.accessed(x)
	case *index:
		return e.indexed(x)
	case *nonNull:
		v := e.value(x.of)
		if v == nil {
			fail(x.Position, "this is null")
		}
		return v
	case *call:
		return e.called(x)
	case *unary:
		return e.unary(x)
	case *binary:
		return e.binary(x)
	case *ternary:
		if e.truth(x.condition) {
			return e.value(x.yes)
		}
		return e.value(x.no)
	case *array:
		return e.array(x)
	case *object:
		return e.object(x)
	case *loop:
		out := []any{}
		e.each(x, func(item *environment, _ int) { out = append(out, item.value(x.body)) })
		return out
	case *lambda:
		return &closure{x.params, x.body, e}
	}
	fail(x.pos(), "this has no value here")
	return nil
}

func (e *environment) truth(x expr) bool {
	v := e.value(x)
	b, ok := v.(bool)
	if !ok {
		fail(x.pos(), "a bool is expected here, not %s", kindOf(v))
	}
	return b
}

func (e *environment) interpolated(x *interpolation) any {
	out, known := x.texts[0], true
	for i, part := range x.exprs {
		text, ok := textOf(part.pos(), e.value(part))
		out += text + x.texts[i+1]
		known = known && ok
	}
	if !known {
		return Symbol(out)
	}
	return out
}

func (e *environment) named(x *identifier) any {
	if v, ok := e.locals[x.name]; ok {
		return v
	}
	for around := e.inside; around != nil; around = around.parent {
		for _, child := range around.decl.children {
			if child.name == x.name {
				return e.resource(child, around)
			}
		}
	}
	return e.frame.named(x.Position, x.name)
}

func (e *environment) accessed(x *access) any {
	of := e.value(x.of)
	switch {
	case x.nested:
		r, ok := of.(*instance)
		if ok {
			for _, child := range r.decl.children {
				if child.name == x.name {
					return e.resource(child, r)
				}
			}
		}
		fail(x.Position, "%s has no nested resource %s", kindOf(of), x.name)
	case of == nil && isSafe(x):
		return nil
	}
	return e.member(x.Position, of, x.name, x.safe)
}

// isSafe reports whether a null at the begin of a chain such as a.?b.c[0] makes
// the whole chain null (Microsoft Learn, "Safe-dereference operator").
func isSafe(e expr) bool {
	switch e := e.(type) {
	case *access:
		return e.safe || isSafe(e.of)
	case *index:
		return e.safe || isSafe(e.of)
	}
	return false
}

// member is of.name.
func (e *environment) member(at Position, of any, name string, safe bool) any {
	switch of := of.(type) {
	case map[string]any:
		v, ok := of[name]
		if !ok && !safe {
			fail(at, "the object has no %s", name)
		}
		return v
	case Symbol:
		return symbol(string(of), "."+name)
	case *instance:
		return of.member(at, name)
	case *moduleInstance:
		return of.member(at, name, safe)
	case outputsOf:
		return of.member(at, name, safe)
	case *scopeValue:
		v, ok := of.properties()[name]
		if !ok {
			fail(at, "%s has no %s that is known here", of.kind, name)
		}
		return v
	case wildcard:
		return of.member(at, name)
	}
	fail(at, "%s has no %s", kindOf(of), name)
	return nil
}

func (e *environment) indexed(x *index) any {
	of, key := e.value(x.of), e.value(x.key)
	if of == nil && isSafe(x) {
		return nil
	}
	if name, ok := key.(string); ok && !x.fromEnd {
		return e.member(x.Position, of, name, x.safe)
	}
	if s, ok := of.(Symbol); ok {
		text, _ := textOf(x.Position, key)
		return symbol(string(s), "["+text+"]")
	}
	n, ok := key.(int64)
	if !ok {
		fail(x.Position, "an index is a number or a string, not %s", kindOf(key))
	}
	at := func(length int) int {
		i := int(n)
		if x.fromEnd {
			i = length - i
		}
		if i < 0 || i >= length {
			if x.safe {
				return -1
			}
			fail(x.Position, "the array of %d has no item %d", length, i)
		}
		return i
	}
	switch of := of.(type) {
	case []any:
		if i := at(len(of)); i >= 0 {
			return of[i]
		}
		return nil
	case collection:
		return of[max(at(len(of)), 0)]
	case moduleCollection:
		return of[max(at(len(of)), 0)]
	}
	fail(x.Position, "%s has no items", kindOf(of))
	return nil
}

func (e *environment) array(x *array) any {
	out := []any{}
	for _, item := range x.items {
		if s, ok := item.(*spread); ok {
			out = append(out, e.list(s.of)...)
			continue
		}
		out = append(out, e.value(item))
	}
	return out
}

func (e *environment) list(x expr) []any {
	v := e.value(x)
	list, ok := v.([]any)
	if !ok {
		fail(x.pos(), "an array is expected here, not %s", kindOf(v))
	}
	return list
}

func (e *environment) object(x *object) any {
	out := map[string]any{}
	for _, m := range x.members {
		if m.key == nil {
			v := e.value(m.value)
			other, ok := v.(map[string]any)
			if !ok {
				fail(m.value.pos(), "an object is expected here, not %s", kindOf(v))
			}
			maps.Copy(out, other)
			continue
		}
		key, _ := textOf(m.key.pos(), e.value(m.key))
		out[key] = e.value(m.value)
	}
	return out
}

// each runs fn for each item of a loop.
func (e *environment) each(x *loop, fn func(item *environment, i int)) {
	for i, item := range e.list(x.of) {
		fn(e.with([]string{x.item, x.index}, []any{item, int64(i)}), i)
	}
}

// called calls a function of the file, of an import, a built-in one, or a method of
// a resource.
func (e *environment) called(x *call) any {
	if x.of != nil {
		namespace, ok := x.of.(*identifier)
		if !ok || !e.isNamespace(namespace.name) {
			return e.method(x)
		}
		if w, ok := e.wildcard(namespace.name); ok {
			return w.call(e, x)
		}
	} else if d, home := e.userFunction(x.name); d != nil {
		return home.invoke(e, d, x)
	}
	b := builtins[x.name]
	args := make([]any, len(x.args))
	for i, a := range x.args {
		args[i] = e.value(a)
	}
	return b.run(&invocation{env: e, at: x.Position, name: x.name, args: args, exprs: x.args})
}

// method is of.listKeys() and the like: what only the deployment knows.
func (e *environment) method(x *call) any {
	of := e.value(x.of)
	r, ok := of.(*instance)
	if !ok {
		fail(x.Position, "%s has no method %s", kindOf(of), x.name)
	}
	suffix := "." + x.name + "("
	for i, a := range x.args {
		text, _ := textOf(a.pos(), e.value(a))
		if i > 0 {
			suffix += ","
		}
		suffix += text
	}
	return symbol("<"+r.label()+">", suffix+")")
}
