package sql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error says why a query text is refused. Its JSON form is the one in which
// the service reports it, inside the message of a 400.
type Error struct {
	Code    string // the service's code, such as SC1001
	Message string // one sentence
	Start   int    // where in the text it starts, in bytes from 0
	End     int    // where it ends, exclusive
	Line    int    // the line of Start, from 1
	Column  int    // the column of Start, in characters from 1
}

// The service's codes for what Parse refuses.
const (
	codeSyntax     = "SC1001" // incorrect syntax near a token
	codeEnd        = "SC1002" // unexpected end of the text
	codeToken      = "SC1010" // a token that can't be read
	codeIdentifier = "SC2001" // an identifier that names nothing
	codeFunction   = "SC2005" // an unknown function
	codeArguments  = "SC2007" // a function with the wrong number of arguments
	codeOther      = "SC3000" // a clause that is not served
)

// Error tells the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("query line %d, column %d: %s: %s", e.Line, e.Column, e.Code, e.Message)
}

func newError(text, code string, start, end int, format string, args ...any) *Error {
	before := text[:min(start, len(text))]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return &Error{
		Code:    code,
		Message: fmt.Sprintf(format, args...),
		Start:   start,
		End:     end,
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[lineStart:]) + 1,
	}
}
