package bicep

import (
	"cmp"
	"fmt"
)

// Position is a place in a file.
type Position struct {
	File   string // as Load was given it, or relative to that
	Line   int    // from 1
	Column int    // from 1, in bytes
}

// String is file:line:column.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Error is what is wrong at a place.
type Error struct {
	Position
	Message string
}

// Error is file:line:column: message.
func (e *Error) Error() string { return e.Position.String() + ": " + e.Message }

func errorAt(at Position, format string, args ...any) *Error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// fail leaves the parser or the evaluator; recovered returns it as an error.
func fail(at Position, format string, args ...any) {
	panic(errorAt(at, format, args...))
}

// recovered is deferred by what is called from outside.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

func byPosition(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
