package bicep

// object reads an object; inside of a resource's body, resources may be
// declared as well, which become children of it.
func (p *parser) object(of *declaration) expr {
	p.enter()
	defer p.leave()
	out := &object{Position: p.expect("{").at}
	for p.skipNewlines(); !p.accept("}"); p.separator("}") {
		if of != nil && (p.peek().is("@") || p.peek().isName("resource") && p.ahead(1).kind == nameToken) {
			p.child(of)
			continue
		}
		if p.accept("...") {
			out.members = append(out.members, member{nil, p.expression()})
			continue
		}
		key := p.key()
		p.skipNewlines()
		p.expect(":")
		p.skipNewlines()
		out.members = append(out.members, member{key, p.expression()})
	}
	return out
}

func (p *parser) key() expr {
	t := p.peek()
	switch t.kind {
	case nameToken, stringToken:
		p.take()
		return &literal{t.at, t.text}
	case stringLeftToken:
		return p.interpolation()
	}
	fail(t.at, "a property's name is expected here, not %v", t)
	return nil
}

func (p *parser) child(of *declaration) {
	decorators := p.decorators()
	p.keyword("resource")
	name := p.name()
	d := &declaration{kind: Res, name: name.text, at: name.at, decorators: decorators, parent: of}
	p.deployed(d)
	of.children = append(of.children, d)
}
