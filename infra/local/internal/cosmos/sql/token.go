package sql

import "strings"

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenKeyword // text in upper case
	tokenNumber
	tokenString    // text decoded
	tokenParameter // text with its @
	tokenSymbol
)

// A token is one word of a query text, at [start, end).
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

// keywords can't be used as names without quotes, not even after a dot: c.value
// and c.order are syntax errors in the service too, c["value"] is not.
var keywords = map[string]bool{
	"AND": true, "ARRAY": true, "AS": true, "ASC": true, "BETWEEN": true, "BY": true,
	"DESC": true, "DISTINCT": true, "ESCAPE": true, "EXISTS": true, "FALSE": true,
	"FROM": true, "GROUP": true, "IN": true, "JOIN": true, "LIKE": true, "LIMIT": true,
	"NOT": true, "NULL": true, "OFFSET": true, "OR": true, "ORDER": true, "SELECT": true,
	"TOP": true, "TRUE": true, "UDF": true, "UNDEFINED": true, "VALUE": true, "WHERE": true,
}

// word makes the token of a bare word: keywords are known in any case.
func word(text string, start, end int) token {
	if upper := strings.ToUpper(text); keywords[upper] {
		return token{tokenKeyword, upper, start, end}
	}
	return token{tokenName, text, start, end}
}
