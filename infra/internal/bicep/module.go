package bicep

import "strings"

// moduleInstance is a module, or one of those that a loop makes.
type moduleInstance struct {
	decl     *declaration
	env      *environment
	body     *object
	deployed bool
	name     string
	named    bool // by the file; otherwise the compiler makes a name that nobody else has
	scope    *scopeValue
	outputs  map[string]any // nil before it ran
}

// moduleCollection are the instances of a module that a loop makes.
type moduleCollection []*moduleInstance

// outputsOf is module.outputs.
type outputsOf struct{ *moduleInstance }

// moduleNamed is what a module's declaration made.
func (f *frame) moduleNamed(d *declaration) any {
	return f.once(d, func() any {
		l, ok := d.value.(*loop)
		if !ok {
			return f.environment().module(d, d.value)
		}
		all := moduleCollection{}
		f.environment().each(l, func(item *environment, _ int) { all = append(all, item.module(d, l.body)) })
		return all
	})
}

func (e *environment) module(d *declaration, body expr) *moduleInstance {
	m := &moduleInstance{decl: d, env: e, name: d.name, scope: e.frame.scope}
	m.body, m.deployed = e.condition(body)
	if x := m.body.property("name"); x != nil {
		m.named = true
		m.name, _ = textOf(x.pos(), e.value(x))
	}
	if x := m.body.property("scope"); x != nil {
		v := e.value(x)
		switch v := v.(type) {
		case *scopeValue:
			m.scope = v
		case *instance:
			m.scope = v.asScope()
		}
		if m.scope == nil {
			fail(x.pos(), "a module's scope can't be %s", kindOf(v))
		}
	}
	if f := m.file(); f.targetScope != m.scope.kind {
		fail(d.at, "the module %s is for a %s, and its scope is a %s", d.name, f.targetScope, m.scope.kind)
	}
	return m
}

// asScope is the scope that a resource group is, nil for another resource.
func (r *instance) asScope() *scopeValue {
	if r.kind != "Microsoft.Resources/resourceGroups" {
		return nil
	}
	scope := *r.env.frame.scope
	scope.kind, scope.group, scope.location = "resourceGroup", r.name, symbol("<"+r.label()+">", ".location")
	if x := r.body.property("location"); x != nil {
		scope.location = r.env.value(x)
	}
	return &scope
}

func (m *moduleInstance) file() *file {
	f := m.env.frame
	return f.program.files[beside(f.file.path, m.decl.source)]
}

func (m *moduleInstance) member(at Position, name string, safe bool) any {
	switch {
	case name == "name":
		return m.name
	case name != "outputs":
		fail(at, "a module has name and outputs, and no %s", name)
	case !m.deployed && safe:
		return nil
	case !m.deployed:
		fail(at, "the module %s is not deployed: its condition is false", m.decl.name)
	}
	return outputsOf{m}
}

func (o outputsOf) member(at Position, name string, safe bool) any {
	o.run()
	v, ok := o.outputs[name]
	if !ok && !safe {
		fail(at, "the module %s has no output %s", o.decl.name, name)
	}
	return v
}

// run deploys the module, once.
func (m *moduleInstance) run() {
	if !m.deployed || m.outputs != nil {
		return
	}
	if m.named {
		m.claim()
	}
	path := m.decl.name
	if m.env.path != "" {
		path = m.env.path + "/" + path
	}
	params := map[string]any{}
	if x := m.body.property("params"); x != nil {
		v := plainValue(x.pos(), m.env.value(x))
		given, ok := v.(map[string]any)
		if !ok {
			fail(x.pos(), "params must be an object, not %s", kindOf(v))
		}
		params = given
	}
	inner := m.env.newFrame(m.file(), path, m.scope)
	inner.take(m.decl.at, params)
	m.outputs = inner.deploy()
}

// claim takes the name of the module's own deployment, of which there may be one
// in a scope at a time (Microsoft Learn, "Bicep modules", name).
func (m *moduleInstance) claim() {
	const longest = 64
	if len(m.name) > longest {
		fail(m.decl.at, "the name %q of the module's deployment is longer than %d", m.name, longest)
	}
	id := strings.ToLower(resourceID(m.decl.at, m.scope.id(), "Microsoft.Resources/deployments", m.name))
	if other, taken := m.env.out.modules[id]; taken {
		fail(m.decl.at, "the name %q of the module's deployment is that of the module at %v too", m.name, other)
	}
	m.env.out.modules[id] = m.decl.at
}

// take gives the frame its parameters. A null is as good as none.
func (f *frame) take(at Position, params map[string]any) {
	for name, v := range params {
		d := f.file.declared(name, Param)
		if d == nil {
			fail(at, "%s has no param %s", f.file.path, name)
		}
		if v == nil && d.value != nil {
			continue
		}
		f.hold(d, v)
		f.params[name] = v
	}
	for _, d := range f.file.declarations {
		if d.kind != Param {
			continue
		}
		if _, given := f.params[d.name]; !given && d.value == nil && d.of.kind != nullableType {
			fail(at, "%s lacks the param %s", f.file.path, d.name)
		}
		f.pass(d, f.named(d.at, d.name))
	}
}

// deploy emits what the file declares and returns its outputs.
func (f *frame) deploy() map[string]any {
	for _, d := range f.file.declarations {
		if d.kind == Res || d.kind == Module {
			emitAll(f.named(d.at, d.name))
		}
	}
	outputs := map[string]any{}
	for _, d := range f.file.declarations {
		if d.kind != Output {
			continue
		}
		v := plainValue(d.at, f.environment().value(d.value))
		if problem := f.mismatch(v, d.of); problem != "" {
			fail(d.at, "the output %s %s", d.name, problem)
		}
		outputs[d.name] = v
		f.pass(d, v)
	}
	return outputs
}
