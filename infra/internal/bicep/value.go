package bicep

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Symbol is a text that only the deployment knows, wholly or in part. The part
// is in angle brackets and says where it comes from, as in
// https://<Microsoft.Web/sites/app1.properties.defaultHostName>/api.
type Symbol string

// Values are nil, bool, int64, float64 (of JSON files), string, Symbol, []any,
// map[string]any; inside of the evaluator also *instance, collection,
// *moduleInstance, moduleCollection, *scopeValue, *closure and outputsOf.
type closure struct {
	params []string
	body   expr
	env    *environment
}

// textOf gives a value as an interpolation shows it; known is false when the
// deployment decides.
func textOf(at Position, v any) (text string, known bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Symbol:
		return string(v), false
	case bool:
		if v {
			return "True", true // as ARM's format and string show it
		}
		return "False", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	fail(at, "%s has no text", kindOf(v))
	return "", false
}

// symbol names a property of a resource, or of a symbol.
func symbol(of string, suffix string) Symbol {
	if strings.HasPrefix(of, "<") && strings.Index(of, ">") == len(of)-1 {
		return Symbol("<" + of[1:len(of)-1] + suffix + ">")
	}
	return Symbol("<(" + of + ")" + suffix + ">")
}

// kindOf names a value's type for an error.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case int64, float64:
		return "a number"
	case string:
		return "a string"
	case Symbol:
		return "what only the deployment knows (" + string(v) + ")"
	case []any, collection, moduleCollection:
		return "an array"
	case map[string]any:
		return "an object"
	case *instance:
		return "the resource " + v.decl.name
	case *moduleInstance:
		return "the module " + v.decl.name
	case *closure:
		return "a lambda"
	}
	return fmt.Sprintf("%T", v)
}

// equal compares two values; what only the deployment knows is equal to itself
// and comparable to nothing else.
func equal(at Position, a, b any) bool {
	_, unknownA := a.(Symbol)
	_, unknownB := b.(Symbol)
	if (unknownA || unknownB) && a != b {
		if a == nil || b == nil {
			return false
		}
		fail(at, "the comparison of %s with %s is decided by the deployment", kindOf(a), kindOf(b))
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return equal(at, x, y) })
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, func(x, y any) bool { return equal(at, x, y) })
	case nil, bool, int64, float64, string, Symbol:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
	fail(at, "%s can't be compared", kindOf(a))
	return false
}

// plainValue turns the evaluator's own values into what a template holds.
func plainValue(at Position, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainValue(at, item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = plainValue(at, item)
		}
		return out
	case *scopeValue:
		return plainValue(at, v.properties())
	case nil, bool, int64, float64, string, Symbol:
		return v
	}
	fail(at, "%s can't be a value here", kindOf(v))
	return nil
}
