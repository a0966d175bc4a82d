package customhandler

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Invocation is one event as the host sends it. It belongs to its handler and
// is not changed after it was decoded.
type Invocation struct {
	ID       string // X-Azure-Functions-InvocationId; new with each attempt
	Function string
	// Data holds the value of each binding, by the binding's name.
	Data map[string]json.RawMessage
	// Metadata is what the trigger knows of the event.
	Metadata Metadata
}

// ErrMissing is the error for a name that an invocation doesn't have.
var ErrMissing = errors.New("is missing")

// decode reads the body of an invocation. Unknown members are ignored: the
// host's envelope may grow.
func decode(id, function string, body []byte) (*Invocation, error) {
	var envelope struct {
		Data     map[string]json.RawMessage
		Metadata map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("decode the invocation: %w", err)
	}
	if envelope.Data == nil {
		return nil, fmt.Errorf("decode the invocation: Data %w", ErrMissing)
	}
	return &Invocation{ID: id, Function: function, Data: envelope.Data, Metadata: envelope.Metadata}, nil
}

// Bytes returns the payload of a binding with cardinality one. With dataType
// binary, which all functions here have, the host writes the bytes in base64.
// Tolerated as well, since other hosts and hand-made calls send them: a text
// that is no base64, a text that is encoded twice (what the host does to a
// string), and a JSON object or array, which stand for themselves.
func (i *Invocation) Bytes(name string) ([]byte, error) {
	raw, ok := i.Data[name]
	if !ok {
		return nil, fmt.Errorf("data %s %w", name, ErrMissing)
	}
	return payload(raw), nil
}

// BytesArray returns the payloads of a binding with cardinality many, in their
// order. The host writes the array as a JSON text inside a JSON string; an
// array that is not wrapped is tolerated. Each element is read as Bytes reads.
func (i *Invocation) BytesArray(name string) ([][]byte, error) {
	raw, ok := i.Data[name]
	if !ok {
		return nil, fmt.Errorf("data %s %w", name, ErrMissing)
	}
	items, err := elements(raw)
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", name, err)
	}
	payloads := make([][]byte, len(items))
	for n, item := range items {
		payloads[n] = payload(item)
	}
	return payloads, nil
}

// payload returns the bytes that a value stands for.
func payload(raw json.RawMessage) []byte {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return raw // an object, an array, a number
	}
	if inner, ok := unquote(text); ok {
		return []byte(inner) // encoded twice: it was a string, not bytes
	}
	if data, err := base64.StdEncoding.DecodeString(text); err == nil {
		return data
	}
	return []byte(text)
}
