package bicep

import "strings"

// instance is a resource, or one of those that a loop makes.
type instance struct {
	decl   *declaration
	env    *environment // with the loop's variables
	body   *object
	parent *instance

	// deployed is false when the resource's condition is.
	deployed bool
	kind     string // the full type
	version  string
	own      string // what the property name says
	name     string // the full name: a/b for a child
	scope    string // id of what the resource is in, or of what it extends
	id       string
}

// collection are the instances of a resource that a loop makes.
type collection []*instance

// resource is what a declaration made: an *instance or a collection. around is
// the instance in whose body it is declared, or nil.
func (f *frame) resource(d *declaration, around *instance) any {
	key := resourceKey{d, around}
	if v, done := f.resources[key]; done {
		return v
	}
	env := f.environment()
	if around != nil {
		env = &environment{f, around.env.locals, around}
	}
	var v any
	if l, ok := d.value.(*loop); ok {
		all := collection{}
		env.each(l, func(item *environment, _ int) { all = append(all, item.instance(d, l.body, around)) })
		v = all
	} else {
		v = env.instance(d, d.value, around)
	}
	f.resources[key] = v
	return v
}

// condition takes the conditions off a body.
func (e *environment) condition(body expr) (*object, bool) {
	met := true
	for {
		c, ok := body.(*conditional)
		if !ok {
			break
		}
		met = met && e.truth(c.condition)
		body = c.body
	}
	o, ok := body.(*object)
	if !ok {
		fail(body.pos(), "a body is expected here, and not a loop in a loop")
	}
	return o, met
}

// property is what a body says for a name.
func (o *object) property(name string) expr {
	for _, m := range o.members {
		if key, ok := m.key.(*literal); ok && key.value == name {
			return m.value
		}
	}
	return nil
}

// instance works out what identifies a resource; the rest of its body waits.
func (e *environment) instance(d *declaration, body expr, around *instance) *instance {
	r := &instance{decl: d, env: e, parent: around}
	r.body, r.deployed = e.condition(body)
	if around != nil {
		r.deployed = r.deployed && around.deployed
	}
	r.kind, r.version, _ = strings.Cut(d.source, "@")
	name := r.body.property("name")
	if name == nil {
		fail(d.at, "the resource %s has no name", d.name)
	}
	r.own, _ = textOf(name.pos(), e.value(name))
	r.name = r.own
	if parent := r.body.property("parent"); parent != nil {
		v := e.value(parent)
		p, ok := v.(*instance)
		if !ok {
			fail(parent.pos(), "the parent must be a resource, not %s", kindOf(v))
		}
		if !strings.HasPrefix(r.kind, p.kind+"/") {
			fail(parent.pos(), "the parent of a %s can't be a %s", r.kind, p.kind)
		}
		r.parent = p
	} else if around != nil {
		r.kind = around.kind + "/" + r.kind
		if r.version == "" {
			r.version = around.version
		}
	}
	if r.version == "" {
		fail(d.at, "the type %s has no API version", d.source)
	}
	r.locate()
	return r
}

// locate works out the full name, the scope and the id.
func (r *instance) locate() {
	e := r.env
	if r.parent != nil {
		if strings.Contains(r.own, "/") {
			fail(r.decl.at, "the name %q has a slash, and there is a parent", r.own)
		}
		r.name, r.scope = r.parent.name+"/"+r.own, r.parent.scope
	} else {
		r.scope = e.frame.scope.id()
		if x := r.body.property("scope"); x != nil {
			switch v := e.value(x).(type) {
			case *instance:
				r.scope = v.id
			case *scopeValue:
				r.scope = v.id()
			default:
				fail(x.pos(), "the scope must be a resource or a scope, not %s", kindOf(v))
			}
		}
	}
	r.id = resourceID(r.decl.at, r.scope, r.kind, r.name)
}

// resourceID is scope/providers/namespace/type/name and so on (Microsoft Learn,
// "Resource functions for Bicep", resourceId).
func resourceID(at Position, scope, kind, name string) string {
	types, names := strings.Split(kind, "/"), strings.Split(name, "/")
	if len(types) != len(names)+1 {
		fail(at, "the name %q does not fit the type %s: it must have %d parts", name, kind, len(types)-1)
	}
	if kind == "Microsoft.Resources/resourceGroups" {
		return scope + "/resourceGroups/" + name
	}
	id := scope + "/providers/" + types[0]
	for i, n := range names {
		id += "/" + types[i+1] + "/" + n
	}
	return id
}

// label names a resource in symbols.
func (r *instance) label() string { return r.kind + "/" + r.name }

// member is a property of a resource in an expression.
func (r *instance) member(at Position, name string) any {
	switch name {
	case "id":
		return r.id
	case "name":
		return r.own
	case "type":
		return r.kind
	case "apiVersion":
		return r.version
	}
	if !r.deployed && !r.decl.existing {
		fail(at, "the resource %s is not deployed: its condition is false", r.decl.name)
	}
	return symbol("<"+r.label()+">", "."+name)
}

// notBody are the properties that say what the resource is, and in which order
// it is made.
var notBody = map[string]bool{"name": true, "parent": true, "scope": true, "dependsOn": true}

// emit puts the resource and its children into the deployment.
func (r *instance) emit() {
	if !r.deployed {
		return
	}
	out := Resource{
		Type: r.kind, APIVersion: r.version, Name: r.name, ID: r.id, Scope: r.scope,
		Module: r.env.path, Position: r.decl.at,
	}
	if r.parent != nil {
		out.Parent = r.parent.id
	}
	env := &environment{r.env.frame, r.env.locals, r}
	body := &object{Position: r.body.Position}
	for _, m := range r.body.members {
		if key, ok := m.key.(*literal); !ok || !notBody[key.value.(string)] {
			body.members = append(body.members, m)
		}
	}
	if x := r.body.property("dependsOn"); x != nil {
		for _, v := range env.list(x) {
			out.DependsOn = append(out.DependsOn, idsOf(v)...)
		}
	}
	out.Body = plainValue(r.decl.at, env.value(body)).(map[string]any)
	r.env.out.add(out, r.decl.existing)
	for _, child := range r.decl.children {
		emitAll(r.env.frame.resource(child, r))
	}
}

// idsOf are the ids of what dependsOn names, if these are resources.
func idsOf(v any) []string {
	switch v := v.(type) {
	case *instance:
		return []string{v.id}
	case collection:
		var out []string
		for _, r := range v {
			out = append(out, r.id)
		}
		return out
	}
	return nil
}

func emitAll(v any) {
	switch v := v.(type) {
	case *instance:
		v.emit()
	case collection:
		for _, r := range v {
			r.emit()
		}
	case *moduleInstance:
		v.run()
	case moduleCollection:
		for _, m := range v {
			m.run()
		}
	}
}
