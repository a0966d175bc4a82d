package bicep

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lexer cuts a file into tokens. Line ends are tokens, since they end
// statements, properties and items; several are one.
type lexer struct {
	file   string
	text   string
	at     int // offset of the next byte
	line   int
	start  int // offset of the line's first byte
	tokens []token
	// braces has an entry for each ${ that is open: how many { are open in it.
	braces []int
}

// lex returns the tokens of a file, the last of which is endToken.
func lex(file, text string) []token {
	l := &lexer{file: file, text: text, line: 1}
	if !utf8.ValidString(text) {
		fail(l.position(), "the file is not UTF-8")
	}
	for l.at < len(l.text) {
		l.next()
	}
	if len(l.braces) > 0 {
		fail(l.position(), "a ${ is not closed")
	}
	l.add(endToken, "", l.position())
	return l.tokens
}

func (l *lexer) position() Position { return Position{l.file, l.line, l.at - l.start + 1} }

func (l *lexer) add(kind tokenKind, text string, at Position) {
	l.tokens = append(l.tokens, token{kind, text, at})
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.text[l.at:], prefix) }

func (l *lexer) next() {
	at, c := l.position(), l.text[l.at]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		l.at++
	case c == '\n':
		if n := len(l.tokens); n > 0 && l.tokens[n-1].kind != newlineToken {
			l.add(newlineToken, "", at)
		}
		l.newline()
	case l.has("//") || l.isDirective():
		for l.at < len(l.text) && l.text[l.at] != '\n' {
			l.at++
		}
	case l.has("/*"):
		l.blockComment(at)
	case l.has("'''"):
		l.multiline(at)
	case c == '\'':
		l.at++
		l.stringPiece(at, stringToken, stringLeftToken)
	case isLetter(c):
		l.add(nameToken, l.takeWhile(func(c byte) bool { return isLetter(c) || isDigit(c) }), at)
	case isDigit(c):
		l.add(numberToken, l.takeWhile(isDigit), at)
	default:
		l.operator(at)
	}
}

// directives are for the compiler's linter (Microsoft Learn, "Use Bicep linter",
// silencing false positives).
var directives = []string{"#disable-next-line ", "#disable-diagnostics ", "#restore-diagnostics "}

func (l *lexer) isDirective() bool {
	return slices.ContainsFunc(directives, l.has) && strings.TrimSpace(l.text[l.start:l.at]) == ""
}

// newline steps over a line end.
func (l *lexer) newline() {
	l.at++
	l.line++
	l.start = l.at
}

func (l *lexer) takeWhile(ok func(byte) bool) string {
	from := l.at
	for l.at < len(l.text) && ok(l.text[l.at]) {
		l.at++
	}
	return l.text[from:l.at]
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func (l *lexer) blockComment(at Position) {
	l.at += 2
	for !l.has("*/") {
		switch {
		case l.at >= len(l.text):
			fail(at, "the comment is not closed")
		case l.text[l.at] == '\n':
			l.newline()
		default:
			l.at++
		}
	}
	l.at += 2
}

// operator reads an operator; braces tell when the } of a ${ has come.
func (l *lexer) operator(at Position) {
	inner := len(l.braces) - 1
	if inner >= 0 && l.has("}") && l.braces[inner] == 0 {
		l.braces = l.braces[:inner]
		l.at++
		l.stringPiece(at, stringRightToken, stringInnerToken)
		return
	}
	for _, op := range operators {
		if !l.has(op) {
			continue
		}
		switch {
		case inner >= 0 && op == "{":
			l.braces[inner]++
		case inner >= 0 && op == "}":
			l.braces[inner]--
		}
		l.at += len(op)
		l.add(operatorToken, op, at)
		return
	}
	r, _ := utf8.DecodeRuneInString(l.text[l.at:])
	fail(at, "%q has no meaning here", r)
}

// stringPiece reads a string up to its end or to a ${.
func (l *lexer) stringPiece(at Position, whole, open tokenKind) {
	var text strings.Builder
	for {
		switch {
		case l.at >= len(l.text) || l.text[l.at] == '\n':
			fail(at, "the string is not closed on its line")
		case l.text[l.at] == '\'':
			l.at++
			l.add(whole, text.String(), at)
			return
		case l.has("${"):
			l.at += 2
			l.braces = append(l.braces, 0)
			l.add(open, text.String(), at)
			return
		case l.text[l.at] == '\\':
			text.WriteString(l.escape())
		default:
			text.WriteByte(l.text[l.at])
			l.at++
		}
	}
}

// escape reads an escape sequence (Microsoft Learn, "Data types in Bicep",
// strings).
func (l *lexer) escape() string {
	at := l.position()
	for sequence, text := range map[string]string{`\\`: `\`, `\'`: `'`, `\n`: "\n", `\r`: "\r", `\t`: "\t", `\$`: `$`} {
		if l.has(sequence) {
			l.at += 2
			return text
		}
	}
	digits, _, closed := strings.Cut(strings.TrimPrefix(l.text[l.at:], `\u{`), "}")
	code, err := strconv.ParseInt(digits, 16, 32)
	if !l.has(`\u{`) || !closed || err != nil || !utf8.ValidRune(rune(code)) {
		fail(at, `there is no such escape sequence; allowed: \\ \' \n \r \t \$ \u{...}`)
	}
	l.at += len(`\u{}`) + len(digits)
	return string(rune(code))
}

// multiline reads a string between three quotes; a line end right at its begin is
// left out.
func (l *lexer) multiline(at Position) {
	l.at += 3
	if l.has("\r\n") {
		l.at++
	}
	if l.has("\n") {
		l.newline()
	}
	from := l.at
	for !l.has("'''") {
		switch {
		case l.at >= len(l.text):
			fail(at, "the multi-line string is not closed")
		case l.text[l.at] == '\n':
			l.newline()
		default:
			l.at++
		}
	}
	to := l.at
	for l.at += 3; l.has("'") && to-from < len(l.text); l.at++ {
		to++ // quotes before the last three belong to the text
	}
	l.add(stringToken, l.text[from:to], at)
}
