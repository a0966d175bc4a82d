package sql

import "math"

// A scope is what an expression is evaluated over.
type scope struct {
	row     Value
	results []Value // of the query's aggregates, by slot
}

// evaluate gives the value of e, Undefined where it makes no sense for the row.
func evaluate(e expr, s scope) Value {
	switch n := e.(type) {
	case literal:
		return n.value
	case path:
		return follow(s.row, n.steps)
	case logical:
		return evaluateLogical(n, s)
	case not:
		v := evaluate(n.operand, s)
		if v.Kind() != Bool {
			return Value{}
		}
		return BoolValue(!v.IsTrue())
	case binary:
		return operate(n.op, evaluate(n.left, s), evaluate(n.right, s))
	case negate:
		v := evaluate(n.operand, s)
		if v.Kind() != Number {
			return Value{}
		}
		return NumberValue(-v.Float())
	case in:
		return evaluateIn(n, s)
	case between:
		v := evaluate(n.operand, s)
		return and(operate(">=", v, evaluate(n.low, s)), operate("<=", v, evaluate(n.high, s)))
	case call:
		args := make([]Value, len(n.args))
		for i, arg := range n.args {
			args[i] = evaluate(arg, s)
		}
		return n.function.apply(args)
	case aggregateCall:
		return s.results[n.slot]
	}
	return construct(e, s)
}

// construct makes the values of array and object literals.
func construct(e expr, s scope) Value {
	c := &composite{}
	switch n := e.(type) {
	case arrayOf:
		for _, element := range n.elements {
			if v := evaluate(element, s); v.Kind() != Undefined {
				c.values = append(c.values, v)
			}
		}
		return Value{kind: Array, sub: c}
	case objectOf:
		for i, value := range n.values {
			if v := evaluate(value, s); v.Kind() != Undefined {
				c.names, c.values = append(c.names, n.names[i]), append(c.values, v)
			}
		}
		return Value{kind: Object, sub: c}
	}
	return Value{}
}

func follow(v Value, steps []Value) Value {
	for _, step := range steps {
		switch {
		case step.Kind() == String:
			v = v.Member(step.Text())
		case v.Kind() == Array:
			v = v.Index(int(step.Float()))
		default:
			return Value{}
		}
	}
	return v
}

// evaluateLogical is three-valued: false decides AND and true decides OR even
// beside an Undefined, anything else beside an Undefined is Undefined.
func evaluateLogical(n logical, s scope) Value {
	result := BoolValue(!n.or)
	for _, operand := range n.operands {
		v := evaluate(operand, s)
		if v.Kind() != Bool {
			result = Value{}
		} else if v.IsTrue() == n.or {
			return v
		}
	}
	return result
}

func and(a, b Value) Value {
	return evaluateLogical(logical{operands: []expr{literal{a}, literal{b}}}, scope{})
}

func evaluateIn(n in, s scope) Value {
	v := evaluate(n.operand, s)
	result := BoolValue(false)
	for _, candidate := range n.list {
		same := equality(v, evaluate(candidate, s))
		if same.IsTrue() {
			return same
		}
		if same.Kind() == Undefined {
			result = Value{}
		}
	}
	return result
}

// operate applies a comparison or an arithmetic operator.
func operate(op string, a, b Value) Value {
	switch op {
	case "=":
		return equality(a, b)
	case "!=", "<>":
		same := equality(a, b)
		if same.Kind() == Undefined {
			return same
		}
		return BoolValue(!same.IsTrue())
	case "<":
		return relation(a, b, func(c int) bool { return c < 0 })
	case "<=":
		return relation(a, b, func(c int) bool { return c <= 0 })
	case ">":
		return relation(a, b, func(c int) bool { return c > 0 })
	case ">=":
		return relation(a, b, func(c int) bool { return c >= 0 })
	}
	return calculate(op, a, b)
}

func calculate(op string, a, b Value) Value {
	if a.Kind() != Number || b.Kind() != Number {
		return Value{}
	}
	var f float64
	switch op {
	case "+":
		f = a.Float() + b.Float()
	case "-":
		f = a.Float() - b.Float()
	case "*":
		f = a.Float() * b.Float()
	case "/":
		f = a.Float() / b.Float()
	case "%":
		f = math.Mod(a.Float(), b.Float())
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}
	}
	return NumberValue(f)
}
