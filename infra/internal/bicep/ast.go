package bicep

// file is a parsed file.
type file struct {
	path         string
	targetScope  string // resourceGroup unless said otherwise
	imports      []*importing
	declarations []*declaration
	scopeAt      Position
}

// Kind is what a declaration declares, by its keyword.
type Kind string

// The kinds of declarations.
const (
	Param    Kind = "param"
	Var      Kind = "var"
	Res      Kind = "resource"
	Module   Kind = "module"
	Output   Kind = "output"
	Type     Kind = "type"
	Function Kind = "func"
)

type declaration struct {
	kind       Kind
	name       string
	at         Position
	decorators []*call

	of    *typeExpr // of a param, an output, a type; the result of a func
	value expr      // default, value or body; nil for a param without default

	source   string // resource: type@version; module: path
	existing bool
	params   []funcParam // func
	// children are the resources declared inside a resource's body, and parent
	// is the resource around them.
	children []*declaration
	parent   *declaration
}

type funcParam struct {
	name string
	of   *typeExpr
}

func (d *declaration) decorator(name string) *call {
	for _, c := range d.decorators {
		if c.name == name {
			return c
		}
	}
	return nil
}

// importing is import { a as b } from 'path', or import * as b from 'path'.
type importing struct {
	at    Position
	path  string
	names []importedName // without any: all, as alias
	alias string
}

type importedName struct {
	name, alias string
	at          Position
}

// expr is an expression.
type expr interface{ pos() Position }

func (p Position) pos() Position { return p }

type (
	// literal is null, true, 1 or 'text'.
	literal struct {
		Position
		value any
	}
	// interpolation is 'text${expr}text': one text more than expressions.
	interpolation struct {
		Position
		texts []string
		exprs []expr
	}
	identifier struct {
		Position
		name string
	}
	// access is of.name, of.?name or of::name.
	access struct {
		Position
		of     expr
		name   string
		safe   bool
		nested bool
	}
	// index is of[key], of[?key] or of[^key].
	index struct {
		Position
		of, key       expr
		safe, fromEnd bool
	}
	// nonNull is of!.
	nonNull struct {
		Position
		of expr
	}
	// call is name(args) or of.name(args).
	call struct {
		Position
		of   expr
		name string
		args []expr
	}
	unary struct {
		Position
		operator string
		of       expr
	}
	binary struct {
		Position
		operator    string
		left, right expr
	}
	ternary struct {
		Position
		condition, yes, no expr
	}
	array struct {
		Position
		items []expr // a spread among them
	}
	object struct {
		Position
		members []member
	}
	// spread is ...of in an array; in an object it is a member without a key.
	spread struct {
		Position
		of expr
	}
	// loop is [for item, index in of: body].
	loop struct {
		Position
		item, index string // index may be ""
		of, body    expr
	}
	// conditional is if (condition) body, of a resource or module.
	conditional struct {
		Position
		condition, body expr
	}
	lambda struct {
		Position
		params []string
		body   expr
	}
)

type member struct {
	key   expr // nil for a spread
	value expr
}

type typeKind int

const (
	namedType   typeKind = iota // a primitive, or one that is declared
	literalType                 // 'a', 1, true, null
	arrayType                   // item[]
	objectType
	tupleType
	unionType
	nullableType // item?
	memberType   // item.name, item[*], item[0]: not held
	derivedType  // resourceInput<'...'>: not held
)

type typeExpr struct {
	at      Position
	kind    typeKind
	name    string // of a namedType
	value   any    // of a literalType
	item    *typeExpr
	members []typeMember // of an object, a tuple, a union
	rest    *typeExpr    // of an object: *: rest
}

type typeMember struct {
	name string
	of   *typeExpr
}
