package sql

import (
	"fmt"
	"math"
	"slices"
)

// Parse reads a query text. params gives the values of its parameters by their
// names with the @. Its errors are of type *Error.
func Parse(text string, params map[string]Value) (*Query, error) {
	return parse(text, params, (*parser).query)
}

// ParseCondition reads the condition of a conditional patch, "FROM c WHERE …",
// into a query of which only Matches is of use.
func ParseCondition(text string) (*Query, error) {
	return parse(text, nil, (*parser).condition)
}

func parse(text string, params map[string]Value, production func(*parser) error) (*Query, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, tokens: tokens, params: params, result: &Query{limit: -1}}
	if err := production(p); err != nil {
		return nil, err
	}
	if p.peek().kind != tokenEnd {
		return nil, p.unexpected()
	}
	for _, reference := range p.references {
		if reference.text != p.result.alias {
			return nil, p.errorAt(reference, codeIdentifier, "Identifier '%s' could not be resolved.", reference.text)
		}
	}
	return p.result, nil
}

// A parser reads tokens by recursive descent. Each production leaves the
// position behind what it has read.
type parser struct {
	text       string
	tokens     []token
	position   int
	params     map[string]Value
	result     *Query
	references []token // names that must be the alias of the root
	depth      int
	bare       []token // paths of the select list outside of aggregates
	aggregates aggregateState
}

type aggregateState uint8

const (
	aggregatesRefused aggregateState = iota // outside of the select list
	aggregatesAllowed
	insideAggregate
)

func (p *parser) query() error {
	if err := p.expectKeyword("SELECT"); err != nil {
		return err
	}
	if err := p.selectClause(); err != nil {
		return err
	}
	if err := p.fromClause(); err != nil {
		return err
	}
	if err := p.whereClause(); err != nil {
		return err
	}
	if err := p.orderClause(); err != nil {
		return err
	}
	return p.offsetClause()
}

func (p *parser) condition() error {
	if err := p.fromClause(); err != nil {
		return err
	}
	return p.whereClause()
}

func (p *parser) selectClause() error {
	q := p.result
	q.distinct = p.keyword("DISTINCT")
	if p.keyword("TOP") {
		n, err := p.count()
		if err != nil {
			return err
		}
		q.top, q.limit = true, n
	}
	p.aggregates = aggregatesAllowed
	defer func() { p.aggregates = aggregatesRefused }()
	var err error
	switch {
	case p.symbol("*"):
		return nil
	case p.keyword("VALUE"):
		q.value, err = p.expression()
	default:
		err = p.selectList()
	}
	if err == nil && len(q.aggregates) > 0 && len(p.bare) > 0 {
		return p.errorAt(p.bare[0], codeOther, "Property reference '%s' is invalid in the select list because it is not contained in an aggregate function.", p.bare[0].text)
	}
	return err
}

func (p *parser) selectList() error {
	unnamed := 0
	for {
		first := p.peek()
		value, err := p.expression()
		if err != nil {
			return err
		}
		name, named := nameOf(value, first)
		as := p.keyword("AS")
		if t := p.peek(); as || t.kind == tokenName {
			if t.kind != tokenName {
				return p.unexpected()
			}
			p.position++
			name, named = t.text, true
		}
		if !named {
			unnamed++
			name = fmt.Sprintf("$%d", unnamed)
		}
		if slices.ContainsFunc(p.result.list, func(o projection) bool { return o.name == name }) {
			return p.errorAt(first, codeOther, "The property name '%s' is specified more than once in the select list.", name)
		}
		p.result.list = append(p.result.list, projection{name, value})
		if !p.symbol(",") {
			return nil
		}
	}
}

// nameOf is the name that a projection has without AS: the last step of a path.
func nameOf(value expr, first token) (string, bool) {
	p, ok := value.(path)
	if !ok {
		return "", false
	}
	if len(p.steps) == 0 {
		return first.text, true
	}
	last := p.steps[len(p.steps)-1]
	return last.Text(), last.Kind() == String
}

func (p *parser) fromClause() error {
	if err := p.expectKeyword("FROM"); err != nil {
		return err
	}
	root := p.peek()
	if root.kind != tokenName {
		return p.unexpected()
	}
	p.position++
	p.result.alias = root.text
	as := p.keyword("AS")
	if t := p.peek(); t.kind == tokenName {
		p.position++
		p.result.alias = t.text
	} else if as {
		return p.unexpected()
	}
	return nil
}

func (p *parser) whereClause() error {
	if !p.keyword("WHERE") {
		return nil
	}
	var err error
	p.result.where, err = p.expression()
	return err
}

func (p *parser) orderClause() error {
	order := p.peek()
	if !p.keyword("ORDER") {
		return nil
	}
	if err := p.expectKeyword("BY"); err != nil {
		return err
	}
	if len(p.result.aggregates) > 0 {
		return p.errorAt(order, codeOther, "ORDER BY is not supported beside aggregate functions.")
	}
	for {
		first := p.peek()
		e, err := p.expression()
		if err != nil {
			return err
		}
		target, ok := e.(path)
		if !ok || len(target.steps) == 0 || slices.ContainsFunc(target.steps, func(s Value) bool { return s.Kind() != String }) {
			return p.errorAt(first, codeOther, "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.")
		}
		term := orderTerm{path: target, descending: p.keyword("DESC")}
		if !term.descending {
			p.keyword("ASC")
		}
		p.result.orderBy = append(p.result.orderBy, term)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *parser) offsetClause() error {
	offset := p.peek()
	if !p.keyword("OFFSET") {
		return nil
	}
	if p.result.top {
		return p.errorAt(offset, codeOther, "'OFFSET LIMIT' clause is not supported in combination with 'TOP'.")
	}
	var err error
	if p.result.offset, err = p.count(); err != nil {
		return err
	}
	if err = p.expectKeyword("LIMIT"); err != nil {
		return err
	}
	p.result.offsetUsed = true
	p.result.limit, err = p.count()
	return err
}

// count reads a non-negative integer, as a literal or a parameter.
func (p *parser) count() (int, error) {
	t := p.peek()
	if t.kind != tokenNumber && t.kind != tokenParameter {
		return 0, p.unexpected()
	}
	e, err := p.primary()
	if err != nil {
		return 0, err
	}
	f := e.(literal).value.Float()
	if e.(literal).value.Kind() != Number || f < 0 || f > math.MaxInt32 || f != math.Trunc(f) {
		return 0, p.errorAt(t, codeOther, "The value of '%s' must be a non-negative integer.", t.text)
	}
	return int(f), nil
}
