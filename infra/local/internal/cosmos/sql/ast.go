package sql

// An expr is a node of an expression. Parameters are literals already: Parse
// puts their values in.
type expr interface{}

type (
	literal struct{ value Value }

	// path leads from the row through steps: member names (String) and
	// positions in arrays (Number).
	path struct{ steps []Value }

	// logical is AND or OR of two or more operands.
	logical struct {
		or       bool
		operands []expr
	}

	not struct{ operand expr }

	// binary is a comparison or an arithmetic operation.
	binary struct {
		op          string
		left, right expr
	}

	negate struct{ operand expr }

	// in is also BETWEEN's sibling: operand equals one of the list.
	in struct {
		operand expr
		list    []expr
	}

	between struct{ operand, low, high expr }

	call struct {
		function *function
		args     []expr
	}

	// aggregateCall reads the slot-th result of the query's aggregates.
	aggregateCall struct{ slot int }

	arrayOf struct{ elements []expr }

	objectOf struct {
		names  []string
		values []expr
	}
)

// projection is one entry of a select list.
type projection struct {
	name  string
	value expr
}

// aggregate is one COUNT, SUM, MIN, MAX or AVG in the select list.
type aggregate struct {
	name     string
	argument expr
}

// orderTerm is one path of ORDER BY.
type orderTerm struct {
	path       path
	descending bool
}
