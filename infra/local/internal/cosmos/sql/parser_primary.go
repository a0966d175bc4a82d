package sql

import (
	"slices"
	"strconv"
	"strings"
)

// constants are the keywords that stand for a value.
var constants = map[string]Value{
	"TRUE": BoolValue(true), "FALSE": BoolValue(false), "NULL": NullValue(), "UNDEFINED": {},
}

func (p *parser) primary() (expr, error) {
	t := p.peek()
	p.position++
	switch t.kind {
	case tokenNumber:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.errorAt(t, codeToken, "Syntax error, invalid numeric value token '%s'.", t.text)
		}
		return literal{NumberValue(f)}, nil
	case tokenString:
		return literal{StringValue(t.text)}, nil
	case tokenParameter:
		v, ok := p.params[t.text]
		if !ok {
			return nil, p.errorAt(t, codeIdentifier, "Parameter '%s' could not be resolved.", t.text)
		}
		return literal{v}, nil
	case tokenName:
		if p.peek().is(tokenSymbol, "(") {
			return p.call(t)
		}
		return p.path(t)
	case tokenKeyword:
		if v, ok := constants[t.text]; ok {
			return literal{v}, nil
		}
	case tokenSymbol:
		switch t.text {
		case "(":
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			return e, p.expectSymbol(")")
		case "[":
			elements, err := p.list("]")
			return arrayOf{elements}, err
		case "{":
			return p.object()
		}
	}
	p.position--
	return nil, p.unexpected()
}

// list reads expressions up to the closing symbol, which it passes.
func (p *parser) list(end string) ([]expr, error) {
	var list []expr
	if p.symbol(end) {
		return nil, nil
	}
	for {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if p.symbol(end) {
			return list, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) object() (expr, error) {
	var o objectOf
	if p.symbol("}") {
		return o, nil
	}
	for {
		name := p.peek()
		if name.kind != tokenString && name.kind != tokenName {
			return nil, p.unexpected()
		}
		if slices.Contains(o.names, name.text) {
			return nil, p.errorAt(name, codeOther, "The property name '%s' is specified more than once.", name.text)
		}
		p.position++
		if err := p.expectSymbol(":"); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		o.names, o.values = append(o.names, name.text), append(o.values, value)
		if p.symbol("}") {
			return o, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

// path reads the steps behind the root.
func (p *parser) path(root token) (expr, error) {
	if p.aggregates == aggregatesAllowed {
		p.bare = append(p.bare, root)
	}
	p.references = append(p.references, root)
	var n path
	for {
		switch {
		case p.symbol("."):
			t := p.peek()
			if t.kind != tokenName {
				return nil, p.incorrect() // a keyword needs brackets and quotes
			}
			p.position++
			n.steps = append(n.steps, StringValue(t.text))
		case p.symbol("["):
			t := p.peek()
			p.position++
			switch i, err := strconv.ParseInt(t.text, 10, 32); {
			case t.kind == tokenString:
				n.steps = append(n.steps, StringValue(t.text))
			case t.kind == tokenNumber && err == nil:
				n.steps = append(n.steps, NumberValue(float64(i)))
			default:
				p.position--
				return nil, p.unexpected()
			}
			if err := p.expectSymbol("]"); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
	}
}

func (p *parser) call(name token) (expr, error) {
	upper := strings.ToUpper(name.text)
	if aggregateNames[upper] {
		return p.aggregate(name, upper)
	}
	f, ok := functions[upper]
	if !ok {
		return nil, p.errorAt(name, codeFunction, "'%s' is not a recognized built-in function name.", name.text)
	}
	p.position++
	args, err := p.list(")")
	if err != nil {
		return nil, err
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, p.errorAt(name, codeArguments, "The %s function requires %d to %d argument(s).", upper, f.least, f.most)
	}
	return call{f, args}, nil
}

func (p *parser) aggregate(name token, upper string) (expr, error) {
	if p.aggregates != aggregatesAllowed {
		return nil, p.errorAt(name, codeOther, "Aggregate function '%s' is not allowed here.", upper)
	}
	p.aggregates = insideAggregate
	p.position++
	args, err := p.list(")")
	p.aggregates = aggregatesAllowed
	if err != nil {
		return nil, err
	}
	if len(args) != 1 {
		return nil, p.errorAt(name, codeArguments, "The %s function requires 1 argument(s).", upper)
	}
	p.result.aggregates = append(p.result.aggregates, aggregate{upper, args[0]})
	return aggregateCall{len(p.result.aggregates) - 1}, nil
}
