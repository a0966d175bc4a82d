package business

import (
	"bytes"
	"encoding/json"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Encode writes a document. It leaves out the escapes for HTML, which would change
// the raw JSON inside. Like Decode it fails permanently: neither a document that
// can't be written nor one that can't be read gets better with time.
func Encode(v any, op, id string) ([]byte, error) {
	var doc bytes.Buffer
	e := json.NewEncoder(&doc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, failure.New(failure.Permanent, op, id, err)
	}
	return bytes.TrimSuffix(doc.Bytes(), []byte("\n")), nil
}

// Decode reads a document.
func Decode(doc []byte, v any, op, id string) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return failure.New(failure.Permanent, op, id, err)
	}
	return nil
}
