package sql

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// symbols are the punctuation and operators, the longest first.
var symbols = []string{
	"<=", ">=", "<>", "!=", "||", "??",
	"=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ".", ":", "?", "|", "&", "^", "~",
}

// lex splits a query text into tokens; the last one is a tokenEnd.
func lex(text string) ([]token, error) {
	var tokens []token
	for i := 0; ; {
		i = skipBlank(text, i)
		if i == len(text) {
			return append(tokens, token{tokenEnd, "", i, i}), nil
		}
		t, err := next(text, i)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		i = t.end
	}
}

// skipBlank passes white space and -- comments.
func skipBlank(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return len(text)
			}
			i += end
		default:
			return i
		}
	}
	return i
}

func next(text string, i int) (token, error) {
	r, _ := utf8.DecodeRuneInString(text[i:])
	switch {
	case r == '\'' || r == '"':
		return lexString(text, i)
	case r == '@':
		if end := nameEnd(text, i+1); end > i+1 {
			return token{tokenParameter, text[i:end], i, end}, nil
		}
	case isDigit(text, i) || r == '.' && isDigit(text, i+1):
		return lexNumber(text, i)
	case r == '_' || unicode.IsLetter(r):
		end := nameEnd(text, i)
		return word(text[i:end], i, end), nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(text[i:], s) {
			return token{tokenSymbol, s, i, i + len(s)}, nil
		}
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return token{}, newError(text, codeToken, i, i+size, "Syntax error, invalid token %q.", text[i:i+size])
}

func nameEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}

func isDigit(text string, i int) bool {
	return i < len(text) && text[i] >= '0' && text[i] <= '9'
}

func digits(text string, i int) int {
	for isDigit(text, i) {
		i++
	}
	return i
}

func lexNumber(text string, start int) (token, error) {
	i := digits(text, start)
	if i < len(text) && text[i] == '.' {
		i = digits(text, i+1)
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		exponent := i + 1
		if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
			exponent++
		}
		if !isDigit(text, exponent) {
			return token{}, newError(text, codeToken, start, exponent, "Syntax error, invalid numeric value token '%s'.", text[start:exponent])
		}
		i = digits(text, exponent)
	}
	if end := nameEnd(text, i); end > i {
		return token{}, newError(text, codeToken, start, end, "Syntax error, invalid numeric value token '%s'.", text[start:end])
	}
	return token{tokenNumber, text[start:i], start, i}, nil
}

// unicodeEscape reads \uXXXX at the start of s, or a surrogate pair of two; its
// size is 0 when there is none.
func unicodeEscape(s string) (r rune, size int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		u, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(u), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if low, ok := unit(s[6:]); ok && utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
			return pair, 12
		}
	}
	return r, 6
}

// escapes are the one-letter escapes in strings.
var escapes = map[byte]byte{
	'\'': '\'', '"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func lexString(text string, start int) (token, error) {
	var b strings.Builder
	quote := text[start]
	for i := start + 1; i < len(text); {
		switch c := text[i]; {
		case c == quote:
			return token{tokenString, b.String(), start, i + 1}, nil
		case c != '\\':
			b.WriteByte(c)
			i++
		case i+1 < len(text) && escapes[text[i+1]] != 0:
			b.WriteByte(escapes[text[i+1]])
			i += 2
		default:
			r, size := unicodeEscape(text[i:])
			if size == 0 {
				return token{}, newError(text, codeToken, i, i+1, "Syntax error, invalid escape sequence.")
			}
			b.WriteRune(r)
			i += size
		}
	}
	return token{}, newError(text, codeToken, start, len(text), "Syntax error, invalid string literal token.")
}
