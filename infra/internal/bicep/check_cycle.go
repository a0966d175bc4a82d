package bicep

import "strings"

// cycles reports declarations that need themselves, over others or not.
func (c *checker) cycles() {
	state := map[*declaration]int{} // 1: on the path, 2: done
	var path []string
	var visit func(d *declaration)
	visit = func(d *declaration) {
		switch {
		case state[d] == 1:
			c.errorAt(d.at, "%s needs itself: %s", d.name, strings.Join(append(path, d.name), " needs "))
			return
		case state[d] == 2:
			return
		}
		state[d] = 1
		path = append(path, d.name)
		for name := range c.needs(d) {
			if to := c.file.declared(name, Param, Var, Res, Module, Function); to != nil {
				visit(to)
			}
		}
		path = path[:len(path)-1]
		state[d] = 2
	}
	for _, d := range c.file.declarations {
		visit(d)
	}
}

// needs are the names of the file that a declaration names; its children may
// name it and each other.
func (c *checker) needs(d *declaration) map[string]bool {
	out := map[string]bool{}
	var inner []string
	for _, part := range flat([]*declaration{d}) {
		if part.value == nil {
			continue
		}
		var local scope
		for _, param := range part.params {
			local = local.with(param.name)
		}
		for around := part; around != nil; around = around.parent {
			local = local.with(loopNames(around)...)
		}
		if part != d {
			inner = append(inner, part.name)
			local = local.with(d.name)
		}
		probe := &checker{
			program: c.program, file: c.file, used: out,
			names: c.names, funcs: c.funcs, types: c.types, wildcards: c.wildcards,
		}
		probe.expression(part.value, local)
	}
	for _, name := range inner {
		delete(out, name)
	}
	return out
}
