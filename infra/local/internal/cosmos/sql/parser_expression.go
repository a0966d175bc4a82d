package sql

import "slices"

// maxExpressionDepth bounds the recursion of the parser and so of the evaluator.
const maxExpressionDepth = 128

func (p *parser) expression() (expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxExpressionDepth {
		return nil, p.errorAt(p.peek(), codeOther, "The expression is nested deeper than %d levels.", maxExpressionDepth)
	}
	return p.chain("OR", func() (expr, error) { return p.chain("AND", p.negation) })
}

// chain reads operands joined by AND or by OR into one node.
func (p *parser) chain(operator string, operand func() (expr, error)) (expr, error) {
	first, err := operand()
	if err != nil || !p.peek().is(tokenKeyword, operator) {
		return first, err
	}
	n := logical{or: operator == "OR", operands: []expr{first}}
	for p.keyword(operator) {
		e, err := operand()
		if err != nil {
			return nil, err
		}
		n.operands = append(n.operands, e)
	}
	return n, nil
}

func (p *parser) negation() (expr, error) {
	nots := 0
	for p.keyword("NOT") {
		nots++
	}
	e, err := p.comparison()
	if err != nil || nots == 0 {
		return e, err
	}
	if nots%2 == 0 { // NOT NOT e is e, or Undefined where e is not boolean
		e = not{e}
	}
	return not{e}, nil
}

var comparisons = []string{"=", "!=", "<>", "<", "<=", ">", ">="}

func (p *parser) comparison() (expr, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind == tokenSymbol && slices.Contains(comparisons, t.text) {
		p.position++
		right, err := p.sum()
		return binary{t.text, left, right}, err
	}
	negated := p.keyword("NOT")
	var e expr
	switch {
	case p.keyword("IN"):
		e, err = p.inList(left)
	case p.keyword("BETWEEN"):
		e, err = p.between(left)
	case negated:
		return nil, p.unexpected()
	default:
		return left, nil
	}
	if negated {
		e = not{e}
	}
	return e, err
}

func (p *parser) inList(operand expr) (expr, error) {
	if err := p.expectSymbol("("); err != nil {
		return nil, err
	}
	list, err := p.list(")")
	if err == nil && len(list) == 0 {
		p.position--
		return nil, p.unexpected()
	}
	return in{operand, list}, err
}

func (p *parser) between(operand expr) (expr, error) {
	low, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.expectKeyword("AND"); err != nil {
		return nil, err
	}
	high, err := p.sum()
	return between{operand, low, high}, err
}

func (p *parser) sum() (expr, error) { return p.operators([]string{"+", "-"}, p.product) }

func (p *parser) product() (expr, error) { return p.operators([]string{"*", "/", "%"}, p.unary) }

// operators reads operands joined by left-associative arithmetic operators.
func (p *parser) operators(symbols []string, operand func() (expr, error)) (expr, error) {
	left, err := operand()
	for count := 0; err == nil; count++ {
		t := p.peek()
		if t.kind != tokenSymbol || !slices.Contains(symbols, t.text) {
			break
		}
		if count >= maxExpressionDepth { // each makes the tree one deeper
			return nil, p.errorAt(t, codeOther, "More than %d operators in a row.", maxExpressionDepth)
		}
		p.position++
		var right expr
		right, err = operand()
		left = binary{t.text, left, right}
	}
	return left, err
}

func (p *parser) unary() (expr, error) {
	negative := false
	for {
		switch {
		case p.symbol("-"):
			negative = !negative
			continue
		case p.symbol("+"):
			continue
		}
		break
	}
	e, err := p.primary()
	if l, ok := e.(literal); ok && negative && l.value.Kind() == Number {
		return literal{NumberValue(-l.value.Float())}, err
	}
	if negative {
		e = negate{e}
	}
	return e, err
}
