package bicep

import (
	"errors"
	"slices"
)

// checker finds what is wrong in one file without values.
type checker struct {
	program *Program
	file    *file
	errs    []*Error
	used    map[string]bool
	// names are what expressions may name: nil for what is not a resource, a
	// module or an import as a whole.
	names map[string]*declaration
	// funcs and types are what the file declares or imports.
	funcs, types map[string]*declaration
	wildcards    map[string]*importing
	loops        map[*loop]bool // that stand where loops may stand
}

// check checks all files of a program.
func (p *Program) check() error {
	var all []*Error
	for _, path := range p.Files() {
		c := &checker{
			program: p, file: p.files[path], used: map[string]bool{}, names: map[string]*declaration{},
			funcs: map[string]*declaration{}, types: map[string]*declaration{}, wildcards: map[string]*importing{},
		}
		c.declare()
		c.walk()
		c.unused()
		c.cycles()
		all = append(all, c.errs...)
	}
	slices.SortStableFunc(all, byPosition)
	errs := make([]error, len(all))
	for i, e := range all {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func (c *checker) errorAt(at Position, format string, args ...any) {
	c.errs = append(c.errs, errorAt(at, format, args...))
}

// declare collects the names of the file.
func (c *checker) declare() {
	if !slices.Contains([]string{"resourceGroup", "subscription"}, c.file.targetScope) {
		c.errorAt(c.file.scopeAt, "the scope %q is not read here", c.file.targetScope)
	}
	seen := map[string]bool{}
	add := func(at Position, group, name string) {
		if seen[group+" "+name] {
			c.errorAt(at, "%s is declared twice", name)
		}
		seen[group+" "+name] = true
	}
	for _, i := range c.file.imports {
		if i.alias != "" {
			add(i.at, "", i.alias)
			c.wildcards[i.alias] = i
		}
		for _, n := range i.names {
			add(n.at, "", n.alias)
			d := c.program.exported(c.file, i, n.name)
			if d == nil {
				c.errorAt(n.at, "%s does not export %s", i.path, n.name)
				continue
			}
			c.group(d)[n.alias] = d
		}
	}
	for _, d := range c.file.declarations {
		group := ""
		if d.kind == Output {
			group = "output"
		}
		add(d.at, group, d.name)
		if d.kind != Output {
			c.group(d)[d.name] = d
		}
	}
}

func (c *checker) group(d *declaration) map[string]*declaration {
	switch d.kind {
	case Function:
		return c.funcs
	case Type:
		return c.types
	}
	return c.names
}

// decorated are the decorators and what they may stand at.
var decorated = map[string][]Kind{
	"description": {Param, Var, Res, Module, Output, Type, Function},
	"metadata":    {Param, Output, Type}, "secure": {Param, Output, Type}, "allowed": {Param},
	"minValue": {Param, Output, Type}, "maxValue": {Param, Output, Type},
	"minLength": {Param, Output, Type}, "maxLength": {Param, Output, Type},
	"sealed": {Param, Output, Type}, "discriminator": {Param, Output, Type},
	"export": {Var, Type, Function}, "batchSize": {Res, Module},
}

// walk checks every expression and type of the file.
func (c *checker) walk() {
	for _, d := range flat(c.file.declarations) {
		for _, decorator := range d.decorators {
			if !slices.Contains(decorated[decorator.name], d.kind) {
				c.errorAt(decorator.Position, "there is no decorator @%s of a %s", decorator.name, d.kind)
			}
			c.expressions(decorator.args, scope{})
		}
		if d.of != nil {
			c.typeNames(d.of)
		}
		local := scope{}
		switch d.kind {
		case Function:
			local.sealed = true
			for _, param := range d.params {
				c.typeNames(param.of)
				local = local.with(param.name)
			}
		case Module:
			c.moduleCall(d)
		case Param, Var, Res, Output, Type:
			for around := d; around != nil; around = around.parent {
				local = local.with(loopNames(around)...)
				for _, child := range around.children {
					local = local.with(child.name)
				}
			}
		}
		if d.value != nil {
			c.loops = loopsOf(d)
			c.expression(d.value, local)
		}
		if d.kind == Res || d.kind == Module {
			c.starting(d)
		}
	}
}

// loopsOf are the loops of a declaration that stand where loops may stand: as
// the value of a resource, a module, a variable or an output, or of a property
// of a resource or a module, but not in each other (Microsoft Learn, "Bicep
// core diagnostics", BCP138, BCP142).
func loopsOf(d *declaration) map[*loop]bool {
	out := map[*loop]bool{}
	if l, ok := d.value.(*loop); ok && d.kind != Param {
		out[l] = true
	}
	if d.kind == Res || d.kind == Module {
		addLoops(out, bodyOf(d.value))
	}
	return out
}

func addLoops(to map[*loop]bool, in *object) {
	if in == nil {
		return
	}
	for _, m := range in.members {
		switch v := m.value.(type) {
		case *loop:
			to[v] = true
		case *object:
			addLoops(to, v)
		}
	}
}

// loopNames are the variables of the loop that makes a resource.
func loopNames(d *declaration) []string {
	if l, ok := d.value.(*loop); ok {
		return []string{l.item, l.index}
	}
	return nil
}

func (c *checker) typeNames(t *typeExpr) {
	if t == nil {
		return
	}
	if t.kind == namedType && !slices.Contains(primitives, t.name) && c.wildcards[t.name] == nil && c.types[t.name] == nil {
		c.errorAt(t.at, "there is no type %s", t.name)
	}
	c.used[t.name] = true
	c.typeNames(t.item)
	c.typeNames(t.rest)
	for _, m := range t.members {
		c.typeNames(m.of)
	}
}

// unused reports what is declared and named by nothing.
func (c *checker) unused() {
	for _, d := range flat(c.file.declarations) {
		forNothing := d.kind == Param || d.kind == Res && d.existing && len(d.children) == 0 ||
			slices.Contains([]Kind{Var, Type, Function}, d.kind) && d.decorator("export") == nil
		if forNothing && !c.used[d.name] {
			c.errorAt(d.at, "the %s %s is not used", d.kind, d.name)
		}
	}
	for _, i := range c.file.imports {
		if i.alias != "" && !c.used[i.alias] {
			c.errorAt(i.at, "the import %s is not used", i.alias)
		}
		for _, n := range i.names {
			if !c.used[n.alias] {
				c.errorAt(n.at, "the import %s is not used", n.alias)
			}
		}
	}
}
