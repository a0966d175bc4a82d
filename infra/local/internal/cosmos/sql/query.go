package sql

import "slices"

// A Query is a parsed query with its parameters. It is immutable and safe for
// concurrent use.
type Query struct {
	distinct   bool
	value      expr         // SELECT VALUE value; nil for a select list
	list       []projection // the select list; nil with VALUE or *
	aggregates []aggregate
	alias      string // the name of the row
	where      expr   // nil takes every row
	orderBy    []orderTerm
	offset     int
	limit      int // -1 for none
	top        bool
	offsetUsed bool
}

// Features tells which clauses a query has that need state beyond one row. The
// gateway serves none of them across partitions.
type Features struct {
	OrderBy, Top, OffsetLimit, Aggregate, Distinct bool
}

// Any reports whether at least one of them is there.
func (f Features) Any() bool { return f != Features{} }

// Features tells which of those clauses q has.
func (q *Query) Features() Features {
	return Features{
		OrderBy:     len(q.orderBy) > 0,
		Top:         q.top,
		OffsetLimit: q.offsetUsed,
		Aggregate:   len(q.aggregates) > 0,
		Distinct:    q.distinct,
	}
}

// Window gives how many results to skip and how many to give after that; a
// negative limit means all.
func (q *Query) Window() (offset, limit int) { return q.offset, q.limit }

// Matches reports whether the row passes the WHERE clause: whether that is true,
// not false and not Undefined.
func (q *Query) Matches(row Value) bool {
	return q.where == nil || evaluate(q.where, scope{row: row}).IsTrue()
}

// Project makes the result for a row. It is false when there is none, because
// SELECT VALUE is Undefined. Not for queries with aggregates.
func (q *Query) Project(row Value) (Value, bool) {
	return q.project(scope{row: row})
}

func (q *Query) project(s scope) (Value, bool) {
	switch {
	case q.value != nil:
		v := evaluate(q.value, s)
		return v, v.Kind() != Undefined
	case q.list == nil:
		return s.row, true
	}
	c := &composite{}
	for _, p := range q.list {
		if v := evaluate(p.value, s); v.Kind() != Undefined {
			c.names, c.values = append(c.names, p.name), append(c.values, v)
		}
	}
	return Value{kind: Object, sub: c}, true
}

// OrderTerm is one path of an ORDER BY clause.
type OrderTerm struct {
	Path       []string // member names from the row
	Descending bool
}

// OrderTerms gives the paths of the ORDER BY clause.
func (q *Query) OrderTerms() []OrderTerm {
	terms := make([]OrderTerm, len(q.orderBy))
	for i, t := range q.orderBy {
		terms[i].Descending = t.descending
		for _, step := range t.path.steps {
			terms[i].Path = append(terms[i].Path, step.Text())
		}
	}
	return terms
}

// OrderKeys gives the values of the row by which ORDER BY sorts it.
func (q *Query) OrderKeys(row Value) []Value {
	keys := make([]Value, len(q.orderBy))
	for i, t := range q.orderBy {
		keys[i] = evaluate(t.path, scope{row: row})
	}
	return keys
}

// CompareKeys orders two results of OrderKeys as the ORDER BY clause says;
// negative when a comes first.
func (q *Query) CompareKeys(a, b []Value) int {
	for i, t := range q.orderBy {
		c := Compare(a[i], b[i])
		if t.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Pinned gives the value that every matching row has at the path, when the
// WHERE clause says so by an equality outside of OR and NOT. The gateway routes
// a query by it to one partition.
func (q *Query) Pinned(members []string) (Value, bool) {
	conditions := []expr{q.where}
	if l, ok := q.where.(logical); ok && !l.or {
		conditions = l.operands
	}
	for _, condition := range conditions {
		b, ok := condition.(binary)
		if !ok || b.op != "=" {
			continue
		}
		if l, ok := b.right.(literal); ok && isPath(b.left, members) {
			return l.value, true
		}
		if l, ok := b.left.(literal); ok && isPath(b.right, members) {
			return l.value, true
		}
	}
	return Value{}, false
}

func isPath(e expr, members []string) bool {
	p, ok := e.(path)
	return ok && slices.EqualFunc(p.steps, members, func(step Value, name string) bool {
		return step.Kind() == String && step.Text() == name
	})
}

// WholeRow reports whether the query gives rows as they are: SELECT * or SELECT
// VALUE of the root.
func (q *Query) WholeRow() bool {
	p, isPath := q.value.(path)
	return q.value == nil && q.list == nil || isPath && len(p.steps) == 0
}
