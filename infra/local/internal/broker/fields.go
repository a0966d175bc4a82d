package broker

import (
	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// bodyOf gives a map as maps with string keys arrive: an empty one has no key
// that tells its type.
func bodyOf(v any) (map[string]any, error) {
	switch m := v.(type) {
	case map[string]any:
		return m, nil
	case map[any]any:
		out := make(map[string]any, len(m))
		for k, value := range m {
			name, ok := k.(string)
			if !ok {
				return nil, amqp.Errorf(amqp.CondInvalidField, "the keys of a map must be strings, one is %T", k)
			}
			out[name] = value
		}
		return out, nil
	default:
		return nil, amqp.Errorf(amqp.CondInvalidField, "the value must be a map, is %T", v)
	}
}

// integer reads a field of any of AMQP's integer types.
func integer(body map[string]any, name string) (int64, error) {
	switch n := body[name].(type) {
	case int64:
		return n, nil
	case int32:
		return int64(n), nil
	case uint32:
		return int64(n), nil
	case uint64:
		return int64(n), nil
	case uint8:
		return int64(n), nil
	default:
		return 0, amqp.Errorf(amqp.CondInvalidField, "%s must be an integer, is %T", name, n)
	}
}

// text gives a string; "" for anything else.
func text(v any) string {
	s, _ := v.(string)
	return s
}

func tokensOf(body map[string]any) ([]queue.Token, error) {
	ids, ok := body["lock-tokens"].([]goamqp.UUID)
	if !ok || len(ids) == 0 {
		return nil, amqp.Errorf(amqp.CondInvalidField, "lock-tokens must be an array of uuid that is not empty")
	}
	tokens := make([]queue.Token, len(ids))
	for i, id := range ids {
		tokens[i] = queue.Token(id)
	}
	return tokens, nil
}

func numbersOf(body map[string]any) ([]int64, error) {
	seqs, ok := body["sequence-numbers"].([]int64)
	if !ok || len(seqs) == 0 {
		return nil, amqp.Errorf(amqp.CondInvalidField, "sequence-numbers must be an array of long that is not empty")
	}
	return seqs, nil
}
