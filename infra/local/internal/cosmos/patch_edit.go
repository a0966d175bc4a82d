package cosmos

import (
	"slices"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// edit gives a copy of v in which the operation is done at the path.
func edit(v sql.Value, path []string, op patchOperation) (sql.Value, error) {
	if len(path) == 1 {
		switch v.Kind() {
		case sql.Object:
			return editObject(v, path[0], op)
		case sql.Array:
			return editArray(v, path[0], op)
		}
		return v, errNoPath(path)
	}
	child := lookup(v, path[:1])
	if child.Kind() != sql.Object && child.Kind() != sql.Array {
		return v, errNoPath(path)
	}
	child, err := edit(child, path[1:], op)
	if err != nil {
		return v, err
	}
	if v.Kind() == sql.Object {
		return v.WithMember(path[0], child), nil
	}
	return editArray(v, path[0], patchOperation{op: "replace", value: child})
}

// lookup follows a path of member names and array positions.
func lookup(v sql.Value, path []string) sql.Value {
	for _, segment := range path {
		if v.Kind() != sql.Array {
			v = v.Member(segment)
			continue
		}
		i, err := strconv.Atoi(segment)
		if err != nil {
			return sql.Value{}
		}
		v = v.Index(i)
	}
	return v
}

func editObject(v sql.Value, name string, op patchOperation) (sql.Value, error) {
	old := v.Member(name)
	switch op.op {
	case "add", "set":
		return v.WithMember(name, op.value), nil
	case "incr":
		sum, err := increment(old, op.value)
		return v.WithMember(name, sum), err
	}
	if old.Kind() == sql.Undefined { // replace and remove need something there
		return v, errNoPath([]string{name})
	}
	if op.op == "remove" {
		return v.WithMember(name, sql.Value{}), nil
	}
	return v.WithMember(name, op.value), nil
}

// editArray edits at a position; "-" is the end. add inserts, set and replace
// exchange, remove closes the gap.
func editArray(v sql.Value, segment string, op patchOperation) (sql.Value, error) {
	elements := make([]sql.Value, v.Len())
	for i := range elements {
		elements[i] = v.Index(i)
	}
	i, err := strconv.Atoi(segment)
	if segment == "-" && (op.op == "add" || op.op == "set") {
		i, err = len(elements), nil
	}
	appends := i == len(elements) && (op.op == "add" || op.op == "set")
	if err != nil || i < 0 || i >= len(elements) && !appends {
		return v, badRequest("The patch path ends with '%s', which is no position in an array of %d.", segment, len(elements))
	}
	switch {
	case op.op == "add" || appends:
		elements = slices.Insert(elements, i, op.value)
	case op.op == "remove":
		elements = slices.Delete(elements, i, i+1)
	case op.op == "incr":
		if elements[i], err = increment(elements[i], op.value); err != nil {
			return v, err
		}
	default: // set, replace
		elements[i] = op.value
	}
	return sql.ArrayValue(elements...), nil
}

// increment adds to a number, exactly while both are integers; what is missing
// counts as 0.
func increment(old, by sql.Value) (sql.Value, error) {
	switch old.Kind() {
	case sql.Undefined:
		return by, nil
	case sql.Number:
	default:
		return old, badRequest("The patch operation 'incr' needs a number, and its path leads to something else.")
	}
	a, okA := old.Integer()
	b, okB := by.Integer()
	if sum := a + b; okA && okB && (sum > a) == (b > 0) {
		return sql.IntegerValue(sum), nil
	}
	return sql.NumberValue(old.Float() + by.Float()), nil
}
