package cosmosdb

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// encode and decode fail permanently: neither a document that can't be written
// nor one that can't be read gets better with time.
func encode(v any, op, id string) ([]byte, error) {
	doc, err := marshal(v)
	if err != nil {
		return nil, failure.New(failure.Permanent, op, id, err)
	}
	return doc, nil
}

func decode(doc []byte, v any, op, id string) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return failure.New(failure.Permanent, op, id, err)
	}
	return nil
}

// marshal is json.Marshal without the escapes for HTML, which would change the
// raw JSON inside of documents.
func marshal(v any) ([]byte, error) {
	var doc bytes.Buffer
	e := json.NewEncoder(&doc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(doc.Bytes(), []byte("\n")), nil
}

// withID encodes v, which must be an object, with the id that Cosmos DB wants
// in every document.
func withID(v any, id string) ([]byte, error) {
	doc, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		return nil, fmt.Errorf("%T is no object: %w", v, err)
	}
	if fields == nil {
		return nil, fmt.Errorf("%T is no object", v)
	}
	if fields["id"], err = marshal(id); err != nil {
		return nil, err
	}
	return marshal(fields)
}
