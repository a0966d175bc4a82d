package sql

// An Aggregation collects rows into the one result of a query with aggregates.
// It is not safe for concurrent use.
type Aggregation struct {
	query  *Query
	states []state
}

type state struct {
	count int64
	sum   float64
	mixed bool // a value that is no number: SUM and AVG are Undefined
	least Value
	most  Value
}

// Aggregate begins the aggregation of q, which must have aggregates.
func (q *Query) Aggregate() *Aggregation {
	return &Aggregation{query: q, states: make([]state, len(q.aggregates))}
}

// Add takes a row that matches the query.
func (a *Aggregation) Add(row Value) {
	for i, aggregate := range a.query.aggregates {
		v := evaluate(aggregate.argument, scope{row: row})
		if v.Kind() == Undefined {
			continue
		}
		s := &a.states[i]
		s.count++
		s.sum += v.Float()
		s.mixed = s.mixed || v.Kind() != Number
		if s.least.Kind() == Undefined || Compare(v, s.least) < 0 {
			s.least = v
		}
		if s.most.Kind() == Undefined || Compare(v, s.most) > 0 {
			s.most = v
		}
	}
}

// Result is the query's result over the rows so far. It is false when there is
// none, because SELECT VALUE is Undefined.
func (a *Aggregation) Result() (Value, bool) {
	results := make([]Value, len(a.states))
	for i, s := range a.states {
		results[i] = s.result(a.query.aggregates[i].name)
	}
	return a.query.project(scope{results: results})
}

func (s state) result(name string) Value {
	switch {
	case name == "COUNT":
		return IntegerValue(s.count)
	case name == "MIN":
		return s.least
	case name == "MAX":
		return s.most
	case s.mixed:
		return Value{}
	case name == "SUM":
		return NumberValue(s.sum)
	case s.count > 0: // AVG
		return NumberValue(s.sum / float64(s.count))
	}
	return Value{}
}

// aggregateNames are the functions that take many rows.
var aggregateNames = map[string]bool{"COUNT": true, "SUM": true, "MIN": true, "MAX": true, "AVG": true}
