package bicep

// frame is one file with its parameters, in one deployment. Its values are
// worked out when they are first needed.
type frame struct {
	*deploying
	file   *file
	path   string // of module names, "" for the program's file
	scope  *scopeValue
	params map[string]any
	values map[*declaration]any
	// resources and modules are what the declarations made; a child's by the
	// instance around it too.
	resources map[resourceKey]any
}

type resourceKey struct {
	decl   *declaration
	parent *instance
}

// deploying is what all frames of one deployment have in common.
type deploying struct {
	program *Program
	steps   int               // expressions that were evaluated
	imports map[string]*frame // by path, for what files export
	out     *Deployment
}

func (d *deploying) newFrame(f *file, path string, scope *scopeValue) *frame {
	return &frame{
		deploying: d, file: f, path: path, scope: scope, params: map[string]any{},
		values: map[*declaration]any{}, resources: map[resourceKey]any{},
	}
}

func (f *frame) environment() *environment { return &environment{frame: f} }

// maxSteps bounds what a deployment may evaluate: loops in loops end.
const maxSteps = 2_000_000

func (d *deploying) step(at Position) {
	d.steps++
	if d.steps > maxSteps {
		fail(at, "this takes more than %d steps", maxSteps)
	}
}

// named is the value of a name of the file.
func (f *frame) named(at Position, name string) any {
	if d := f.file.declared(name, Param, Var, Res, Module); d != nil {
		switch d.kind {
		case Res:
			return f.resource(d, nil)
		case Module:
			return f.moduleNamed(d)
		}
		return f.once(d, func() any {
			if v, given := f.params[name]; d.kind == Param && given {
				return v
			}
			if d.value == nil {
				return nil
			}
			v := f.environment().value(d.value)
			if d.kind == Param {
				f.hold(d, v)
			}
			return v
		})
	}
	if w, ok := f.wildcard(name); ok {
		return w
	}
	if d, home := f.imported(name); d != nil {
		return home.named(at, d.name)
	}
	fail(at, "there is no %s", name)
	return nil
}

// once evaluates a declaration the first time. None needs itself: the checks
// have looked for that.
func (f *frame) once(d *declaration, evaluate func() any) any {
	if v, done := f.values[d]; done {
		return v
	}
	v := evaluate()
	f.values[d] = v
	return v
}

// imported is what an import of the file means by a name.
func (f *frame) imported(name string) (*declaration, *frame) {
	for _, i := range f.file.imports {
		for _, n := range i.names {
			if n.alias == name {
				return f.program.exported(f.file, i, n.name), f.home(i)
			}
		}
	}
	return nil, nil
}

// home is the frame of a file that something is imported from: it has no
// parameters.
func (f *frame) home(i *importing) *frame {
	path := beside(f.file.path, i.path)
	if f.deploying.imports[path] == nil {
		f.deploying.imports[path] = f.newFrame(f.program.files[path], "", f.scope)
	}
	return f.deploying.imports[path]
}

// wildcard is an import of everything under one name.
type wildcard struct {
	frame *frame // of the importing file
	from  *importing
}

func (f *frame) wildcard(name string) (wildcard, bool) {
	for _, i := range f.file.imports {
		if i.alias == name {
			return wildcard{f, i}, true
		}
	}
	return wildcard{}, false
}

func (w wildcard) member(at Position, name string) any {
	return w.frame.home(w.from).named(at, name)
}

func (w wildcard) call(e *environment, x *call) any {
	home := w.frame.home(w.from)
	return home.invoke(e, home.file.declared(x.name, Function), x)
}

func (f *frame) isNamespace(name string) bool {
	if _, ok := f.wildcard(name); ok {
		return true
	}
	return (name == "sys" || name == "az") && f.file.declared(name, Param, Var, Res, Module) == nil
}

// userFunction is a function that the file declares or imports, with the frame
// of its file.
func (f *frame) userFunction(name string) (*declaration, *frame) {
	if d := f.file.declared(name, Function); d != nil {
		return d, f
	}
	if d, home := f.imported(name); d != nil && d.kind == Function {
		return d, home
	}
	return nil, nil
}

// invoke calls a user function of this frame's file; its arguments are the
// caller's.
func (f *frame) invoke(caller *environment, d *declaration, x *call) any {
	names, values := make([]string, len(d.params)), make([]any, len(d.params))
	for i, param := range d.params {
		names[i], values[i] = param.name, caller.value(x.args[i])
		if problem := f.mismatch(values[i], param.of); problem != "" {
			fail(x.args[i].pos(), "%s of %s %s", param.name, d.name, problem)
		}
	}
	v := f.environment().with(names, values).value(d.value)
	if problem := f.mismatch(v, d.of); problem != "" {
		fail(x.Position, "the result of %s %s", d.name, problem)
	}
	return v
}
