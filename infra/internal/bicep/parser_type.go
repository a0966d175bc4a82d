package bicep

import "strconv"

// typeExpression reads a type (Microsoft Learn, "User-defined data types in
// Bicep").
func (p *parser) typeExpression() *typeExpr {
	p.enter()
	defer p.leave()
	at := p.peek().at
	p.accept("|") // a union over several lines may begin with it
	first := p.typePostfix()
	if !p.peekAfterNewlines("|") {
		return first
	}
	out := &typeExpr{at: at, kind: unionType, members: []typeMember{{of: first}}}
	for p.peekAfterNewlines("|") {
		p.skipNewlines()
		p.take()
		p.skipNewlines()
		out.members = append(out.members, typeMember{of: p.typePostfix()})
	}
	return out
}

func (p *parser) typePostfix() *typeExpr {
	t := p.typePrimary()
	for {
		at := p.peek().at
		switch {
		case p.peek().is("[") && p.ahead(1).is("]"):
			p.take()
			p.take()
			t = &typeExpr{at: at, kind: arrayType, item: t}
		case p.peek().is("["): // [*] or [0]
			p.take()
			if !p.accept("*") && p.take().kind != numberToken {
				fail(at, "']', '*' or a number is expected in the brackets of a type")
			}
			p.expect("]")
			t = &typeExpr{at: at, kind: memberType, item: t}
		case p.accept("."):
			if !p.accept("*") {
				p.name()
			}
			t = &typeExpr{at: at, kind: memberType, item: t}
		case p.accept("?"):
			t = &typeExpr{at: at, kind: nullableType, item: t}
		case p.accept("!"):
			t = &typeExpr{at: at, kind: memberType, item: t}
		default:
			return t
		}
	}
}

func (p *parser) typePrimary() *typeExpr {
	p.enter()
	defer p.leave()
	t := p.peek()
	switch {
	case t.kind == nameToken:
		return p.typeName()
	case t.kind == stringToken:
		p.take()
		return &typeExpr{at: t.at, kind: literalType, value: t.text}
	case t.kind == numberToken || t.is("-"):
		sign := int64(1)
		if p.accept("-") {
			sign = -1
		}
		n, err := strconv.ParseInt(p.take().text, 10, 64)
		if err != nil {
			fail(t.at, "a number is expected here")
		}
		return &typeExpr{at: t.at, kind: literalType, value: sign * n}
	case t.is("{"):
		return p.objectType()
	case t.is("["):
		p.take()
		out := &typeExpr{at: t.at, kind: tupleType}
		for p.skipNewlines(); !p.accept("]"); p.separator("]") {
			p.decorators()
			out.members = append(out.members, typeMember{of: p.typeExpression()})
		}
		return out
	case t.is("("):
		p.take()
		p.skipNewlines()
		inner := p.typeExpression()
		p.skipNewlines()
		p.expect(")")
		return inner
	}
	fail(t.at, "a type is expected here, not %v", t)
	return nil
}

func (p *parser) typeName() *typeExpr {
	t := p.take()
	switch t.text {
	case "true":
		return &typeExpr{at: t.at, kind: literalType, value: true}
	case "false":
		return &typeExpr{at: t.at, kind: literalType, value: false}
	case "null":
		return &typeExpr{at: t.at, kind: literalType}
	}
	if !p.accept("<") {
		return &typeExpr{at: t.at, kind: namedType, name: t.text}
	}
	if t.text != "resourceInput" && t.text != "resourceOutput" {
		fail(t.at, "%v takes no type argument; resourceInput and resourceOutput do", t)
	}
	p.text()
	p.expect(">")
	return &typeExpr{at: t.at, kind: derivedType}
}

func (p *parser) objectType() *typeExpr {
	out := &typeExpr{at: p.take().at, kind: objectType}
	for p.skipNewlines(); !p.accept("}"); p.separator("}") {
		p.decorators()
		if p.accept("*") {
			p.expect(":")
			out.rest = p.typeExpression()
			continue
		}
		key := p.peek()
		if key.kind != nameToken && key.kind != stringToken {
			fail(key.at, "a property's name is expected here, not %v", key)
		}
		p.take()
		p.expect(":")
		out.members = append(out.members, typeMember{key.text, p.typeExpression()})
	}
	return out
}
