package sql

import "slices"

// peek is the next token; at the end it stays there.
func (p *parser) peek() token { return p.tokens[p.position] }

// keyword passes the next token if it is that keyword.
func (p *parser) keyword(text string) bool { return p.accept(tokenKeyword, text) }

// symbol passes the next token if it is that symbol.
func (p *parser) symbol(text string) bool { return p.accept(tokenSymbol, text) }

func (p *parser) accept(kind tokenKind, text string) bool {
	if !p.peek().is(kind, text) {
		return false
	}
	p.position++
	return true
}

func (p *parser) expectKeyword(text string) error {
	if !p.keyword(text) {
		return p.unexpected()
	}
	return nil
}

func (p *parser) expectSymbol(text string) error {
	if !p.symbol(text) {
		return p.unexpected()
	}
	return nil
}

// unserved begin clauses and operators that the service knows and this package
// does not.
var unserved = []string{"JOIN", "GROUP", "LIKE", "EXISTS", "ARRAY", "UDF", "SELECT", "?", "??", "||", "|", "&", "^", "~"}

// unexpected is the error for the next token where no production takes it.
func (p *parser) unexpected() *Error {
	t := p.peek()
	if (t.kind == tokenKeyword || t.kind == tokenSymbol) && slices.Contains(unserved, t.text) && p.position > 0 {
		return p.errorAt(t, codeOther, "'%s' is not supported here.", p.text[t.start:t.end])
	}
	return p.incorrect()
}

// incorrect is the error for a next token that no query has at this place.
func (p *parser) incorrect() *Error {
	t := p.peek()
	if t.kind == tokenEnd {
		return p.errorAt(t, codeEnd, "Syntax error, unexpected end-of-file.")
	}
	return p.errorAt(t, codeSyntax, "Syntax error, incorrect syntax near '%s'.", p.text[t.start:t.end])
}

func (p *parser) errorAt(t token, code, format string, args ...any) *Error {
	return newError(p.text, code, t.start, t.end, format, args...)
}
