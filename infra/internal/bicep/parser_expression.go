package bicep

import "strconv"

// precedence of the binary operators: the higher binds more tightly (Microsoft
// Learn, "Bicep operators", operator precedence and associativity).
var precedence = map[string]int{
	"*": 7, "/": 7, "%": 7,
	"+": 6, "-": 6,
	"<": 5, "<=": 5, ">": 5, ">=": 5,
	"==": 4, "!=": 4, "=~": 4, "!~": 4,
	"&&": 3,
	"||": 2,
	"??": 1,
}

func (p *parser) expression() expr {
	p.enter()
	defer p.leave()
	condition := p.binary(0)
	if !p.peekAfterNewlines("?") {
		return condition
	}
	p.skipNewlines()
	p.take()
	p.skipNewlines()
	yes := p.expression()
	p.skipNewlines()
	p.expect(":")
	p.skipNewlines()
	return &ternary{condition.pos(), condition, yes, p.expression()}
}

func (p *parser) peekAfterNewlines(operator string) bool {
	n := 0
	for p.ahead(n).kind == newlineToken {
		n++
	}
	return p.ahead(n).is(operator)
}

// binary reads operators that bind more tightly than above. Their operands are
// on one line, or in parentheses on several.
func (p *parser) binary(above int) expr {
	left := p.unary()
	for {
		op := p.peek()
		level := precedence[op.text]
		if op.kind != operatorToken || level <= above {
			return left
		}
		p.take()
		left = &binary{left.pos(), op.text, left, p.binary(level)}
	}
}

func (p *parser) unary() expr {
	p.enter()
	defer p.leave()
	t := p.peek()
	if t.is("!") || t.is("-") || t.is("+") {
		p.take()
		return &unary{t.at, t.text, p.unary()}
	}
	return p.postfix(p.primary())
}

// postfix reads what may follow an operand: .name .?name ::name [key] [?key] !
// and a call.
func (p *parser) postfix(of expr) expr {
	for {
		t := p.peek()
		switch {
		case t.is(".") || t.is(".?") || t.is("::"):
			p.take()
			name := p.name()
			if t.is(".") && p.peek().is("(") {
				p.take()
				of = &call{name.at, of, name.text, p.arguments()}
				continue
			}
			of = &access{name.at, of, name.text, t.is(".?"), t.is("::")}
		case t.is("[") || t.is("[?"):
			p.take()
			p.skipNewlines()
			fromEnd := p.accept("^")
			key := p.expression()
			p.skipNewlines()
			p.expect("]")
			of = &index{t.at, of, key, t.is("[?"), fromEnd}
		case t.is("!"):
			p.take()
			of = &nonNull{t.at, of}
		default:
			return of
		}
	}
}

// arguments reads from behind ( to ).
func (p *parser) arguments() []expr {
	var out []expr
	for p.skipNewlines(); !p.accept(")"); {
		out = append(out, p.expression())
		p.skipNewlines()
		if !p.peek().is(")") {
			p.expect(",")
			p.skipNewlines()
		}
	}
	return out
}

func (p *parser) primary() expr {
	t := p.peek()
	switch t.kind {
	case numberToken:
		p.take()
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			fail(t.at, "%s is no 64-bit number", t.text)
		}
		return &literal{t.at, n}
	case stringToken:
		p.take()
		return &literal{t.at, t.text}
	case stringLeftToken:
		return p.interpolation()
	case nameToken:
		return p.named()
	case operatorToken:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "{":
			return p.object(nil)
		case "[":
			return p.bracket()
		}
	}
	fail(t.at, "a value is expected here, not %v", t)
	return nil
}

func (p *parser) interpolation() expr {
	first := p.take()
	out := &interpolation{Position: first.at, texts: []string{first.text}}
	for {
		p.skipNewlines()
		out.exprs = append(out.exprs, p.expression())
		p.skipNewlines()
		t := p.take()
		switch t.kind {
		case stringInnerToken:
			out.texts = append(out.texts, t.text)
		case stringRightToken:
			out.texts = append(out.texts, t.text)
			return out
		default:
			fail(t.at, "'}' is expected here, not %v", t)
		}
	}
}

// named is a constant, a name, a call, or a lambda of one parameter.
func (p *parser) named() expr {
	t := p.take()
	switch {
	case p.peek().is("=>"):
		p.take()
		p.skipNewlines()
		return &lambda{t.at, []string{t.text}, p.expression()}
	case p.accept("("):
		return &call{Position: t.at, name: t.text, args: p.arguments()}
	}
	switch t.text {
	case "true":
		return &literal{t.at, true}
	case "false":
		return &literal{t.at, false}
	case "null":
		return &literal{t.at, nil}
	}
	return &identifier{t.at, t.text}
}

// parenthesis is an expression in parentheses, or a lambda: (a, b) => body.
func (p *parser) parenthesis() expr {
	at := p.take().at
	if names, length, ok := p.lambdaParams(); ok {
		p.next += length
		p.skipNewlines()
		return &lambda{at, names, p.expression()}
	}
	p.skipNewlines()
	inner := p.expression()
	p.skipNewlines()
	p.expect(")")
	return inner
}

// lambdaParams looks whether "a, b) =>" follows, and how many tokens that is.
func (p *parser) lambdaParams() (names []string, length int, ok bool) {
	for p.ahead(length).kind == nameToken {
		names = append(names, p.ahead(length).text)
		length++
		if !p.ahead(length).is(",") {
			break
		}
		length++
	}
	if p.ahead(length).is(")") && p.ahead(length+1).is("=>") {
		return names, length + 2, true
	}
	return nil, 0, false
}

// bracket is an array, or a loop.
func (p *parser) bracket() expr {
	n := 1
	for p.ahead(n).kind == newlineToken {
		n++
	}
	if p.ahead(n).isName("for") {
		return p.loop(p.expression)
	}
	out := &array{Position: p.take().at}
	for p.skipNewlines(); !p.accept("]"); p.separator("]") {
		out.items = append(out.items, p.item())
	}
	return out
}

// item is an expression, or ...expression.
func (p *parser) item() expr {
	if t := p.peek(); t.is("...") {
		p.take()
		return &spread{t.at, p.expression()}
	}
	return p.expression()
}

// loop reads [for item in of: body] or [for (item, index) in of: body].
func (p *parser) loop(body func() expr) expr {
	out := &loop{Position: p.expect("[").at}
	p.skipNewlines()
	p.keyword("for")
	if p.accept("(") {
		out.item = p.name().text
		p.expect(",")
		out.index = p.name().text
		p.expect(")")
	} else {
		out.item = p.name().text
	}
	p.keyword("in")
	out.of = p.expression()
	p.expect(":")
	out.body = body()
	p.skipNewlines()
	p.expect("]")
	return out
}
