package bicep

import "strings"

func (e *environment) unary(x *unary) any {
	v := e.value(x.of)
	switch v := v.(type) {
	case bool:
		if x.operator == "!" {
			return !v
		}
	case int64:
		switch x.operator {
		case "-":
			return -v
		case "+":
			return v
		}
	}
	fail(x.Position, "'%s' does not take %s", x.operator, kindOf(v))
	return nil
}

func (e *environment) binary(x *binary) any {
	switch x.operator { // the right side is evaluated when it matters
	case "&&":
		return e.truth(x.left) && e.truth(x.right)
	case "||":
		return e.truth(x.left) || e.truth(x.right)
	case "??":
		if v := e.value(x.left); v != nil {
			return v
		}
		return e.value(x.right)
	}
	left, right := e.value(x.left), e.value(x.right)
	switch x.operator {
	case "==":
		return equal(x.Position, left, right)
	case "!=":
		return !equal(x.Position, left, right)
	}
	a, isNumber := left.(int64)
	b, both := right.(int64)
	if isNumber && both {
		return arithmetic(x, a, b)
	}
	s, isText := left.(string)
	t, both := right.(string)
	if isText && both {
		return texts(x, s, t)
	}
	fail(x.Position, "'%s' does not take %s and %s", x.operator, kindOf(left), kindOf(right))
	return nil
}

func arithmetic(x *binary, a, b int64) any {
	if b == 0 && (x.operator == "/" || x.operator == "%") {
		fail(x.Position, "division by zero")
	}
	switch x.operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return a % b
	}
	return ordered(x, a < b, a == b)
}

func texts(x *binary, a, b string) any {
	switch x.operator {
	case "=~":
		return strings.EqualFold(a, b)
	case "!~":
		return !strings.EqualFold(a, b)
	}
	return ordered(x, a < b, a == b)
}

func ordered(x *binary, less, same bool) bool {
	switch x.operator {
	case "<":
		return less
	case "<=":
		return less || same
	case ">":
		return !less && !same
	case ">=":
		return !less
	}
	fail(x.Position, "'%s' does not take these values", x.operator)
	return false
}
