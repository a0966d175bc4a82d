package bicep

import "slices"

// maxDepth bounds how deep expressions, types and bodies may be in each other.
const maxDepth = 200

// parser is a recursive-descent parser. Its methods leave by fail.
type parser struct {
	tokens []token
	next   int
	depth  int
}

// parse reads a file's text.
func parse(path, text string) (f *file, err error) {
	defer recovered(&err)
	p := &parser{tokens: lex(path, text)}
	f = &file{path: path, targetScope: "resourceGroup", scopeAt: Position{path, 1, 1}}
	for p.skipNewlines(); p.peek().kind != endToken; p.skipNewlines() {
		p.statement(f)
		if p.peek().kind != endToken {
			p.newline()
		}
	}
	return f, nil
}

func (p *parser) peek() token { return p.tokens[p.next] }

// ahead is the token n after the next; behind the end it is the end.
func (p *parser) ahead(n int) token { return p.tokens[min(p.next+n, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.peek()
	p.next = min(p.next+1, len(p.tokens)-1)
	return t
}

// accept takes an operator if it is next.
func (p *parser) accept(operator string) bool {
	if !p.peek().is(operator) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(operator string) token {
	if !p.peek().is(operator) {
		fail(p.peek().at, "'%s' is expected here, not %v", operator, p.peek())
	}
	return p.take()
}

func (p *parser) name() token {
	if p.peek().kind != nameToken {
		fail(p.peek().at, "a name is expected here, not %v", p.peek())
	}
	return p.take()
}

func (p *parser) keyword(name string) {
	if !p.peek().isName(name) {
		fail(p.peek().at, "'%s' is expected here, not %v", name, p.peek())
	}
	p.take()
}

// text takes a string without interpolation.
func (p *parser) text() string {
	if p.peek().kind != stringToken {
		fail(p.peek().at, "a string without ${ is expected here, not %v", p.peek())
	}
	return p.take().text
}

func (p *parser) newline() {
	if p.peek().kind != newlineToken {
		fail(p.peek().at, "the line should end here, before %v", p.peek())
	}
	p.skipNewlines()
}

func (p *parser) skipNewlines() {
	for p.peek().kind == newlineToken {
		p.take()
	}
}

// enter counts how deep the parser is; leave is deferred.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxDepth {
		fail(p.peek().at, "this is nested more than %d deep", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) statement(f *file) {
	decorators := p.decorators()
	word := p.name()
	if len(decorators) > 0 && slices.Contains([]string{"targetScope", "metadata", "import"}, word.text) {
		fail(word.at, "%s takes no decorators", word.text)
	}
	switch word.text {
	case "targetScope":
		p.expect("=")
		f.scopeAt = p.peek().at
		f.targetScope = p.text()
	case "metadata":
		p.name()
		p.expect("=")
		p.expression()
	case "import":
		f.imports = append(f.imports, p.importing(word.at))
	default:
		d := p.declaration(word)
		d.decorators = decorators
		f.declarations = append(f.declarations, d)
	}
}

// decorators reads the lines @name(...) and @sys.name(...) before a statement.
func (p *parser) decorators() []*call {
	var out []*call
	for p.accept("@") {
		at := p.peek().at
		name := p.name().text
		if name == "sys" && p.accept(".") {
			name = p.name().text
		}
		p.expect("(")
		out = append(out, &call{Position: at, name: name, args: p.arguments()})
		p.skipNewlines()
	}
	return out
}

func (p *parser) importing(at Position) *importing {
	i := &importing{at: at}
	if p.accept("*") {
		p.keyword("as")
		i.alias = p.name().text
	} else {
		p.expect("{")
		for p.skipNewlines(); !p.accept("}"); p.separator("}") {
			name := p.name()
			imported := importedName{name.text, name.text, name.at}
			if p.peek().isName("as") {
				p.take()
				imported.alias = p.name().text
			}
			i.names = append(i.names, imported)
		}
	}
	p.keyword("from")
	i.path = p.text()
	return i
}

// separator is what stands between members and items: a comma, line ends, or
// nothing before the closing operator.
func (p *parser) separator(closing string) {
	before := p.next
	p.skipNewlines()
	if p.accept(",") {
		p.skipNewlines()
		return
	}
	if p.next == before && !p.peek().is(closing) {
		fail(p.peek().at, "',' or a new line is expected here, not %v", p.peek())
	}
}

func (p *parser) declaration(word token) *declaration {
	d := &declaration{kind: Kind(word.text)}
	switch d.kind {
	case Param, Output, Var, Type, Res, Module, Function:
	default:
		fail(word.at, "%v begins no statement that is known here", word)
	}
	name := p.name()
	d.name, d.at = name.text, name.at
	switch d.kind {
	case Param:
		d.of = p.typeExpression()
		if p.accept("=") {
			d.value = p.expression()
		}
	case Output:
		d.of = p.typeExpression()
		p.expect("=")
		d.value = p.expression()
	case Var:
		p.expect("=")
		d.value = p.expression()
	case Type:
		p.expect("=")
		d.of = p.typeExpression()
	case Res, Module:
		p.deployed(d)
	case Function:
		p.function(d)
	}
	return d
}

// deployed reads a resource or a module from behind its name.
func (p *parser) deployed(d *declaration) {
	d.source = p.text()
	if d.kind == Res && p.peek().isName("existing") {
		p.take()
		d.existing = true
	}
	p.expect("=")
	p.skipNewlines()
	d.value = p.body(d)
}

// body is an object, a condition with one, or a loop of either.
func (p *parser) body(d *declaration) expr {
	p.enter()
	defer p.leave()
	at := p.peek().at
	switch {
	case p.peek().is("["):
		return p.loop(func() expr { return p.body(d) })
	case p.peek().isName("if"):
		return p.conditional(func() expr { return p.body(d) })
	case p.peek().is("{"):
		return p.object(d)
	}
	fail(at, "a body is expected here: '{', 'if' or '[for', not %v", p.peek())
	return nil
}

func (p *parser) conditional(body func() expr) expr {
	at := p.take().at
	p.expect("(")
	p.skipNewlines()
	condition := p.expression()
	p.skipNewlines()
	p.expect(")")
	p.skipNewlines()
	return &conditional{at, condition, body()}
}

func (p *parser) function(d *declaration) {
	p.expect("(")
	for p.skipNewlines(); !p.accept(")"); p.separator(")") {
		name := p.name().text
		d.params = append(d.params, funcParam{name, p.typeExpression()})
	}
	d.of = p.typeExpression()
	p.expect("=>")
	p.skipNewlines()
	d.value = p.expression()
}
