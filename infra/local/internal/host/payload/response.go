package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// What the host makes of answers that are no success.
var (
	// ErrStatus is an answer outside 2xx: the invocation fails, and outputs and
	// logs of the answer are dropped.
	ErrStatus = errors.New("the handler answered with a status outside 2xx")
	// ErrMediaType is a body that isn't application/json or text/json.
	ErrMediaType = errors.New("invalid HttpResponseMessage: the handler must answer with Content-Type application/json")
	// ErrInvalidJSON is a body that can't be parsed.
	ErrInvalidJSON = errors.New("invalid HttpResponseMessage: the handler's answer is not the JSON object that the host expects")
	// ErrNoResult is an empty or null body of a 2xx answer. In the real host the
	// invocation then never ends by itself: it hangs until functionTimeout,
	// which kills the handler with all its invocations.
	ErrNoResult = errors.New("the handler answered 2xx with an empty or null body, which the real host never treats as an end; answer {} with Content-Type application/json")
)

// A Result is a handler's answer (HttpScriptInvocationResult).
type Result struct {
	Outputs     map[string]json.RawMessage
	Logs        []string
	ReturnValue json.RawMessage
}

// Decode reads an answer. contentLength is the header's value, -1 without one.
func Decode(status int, contentType string, contentLength int64, body []byte) (Result, error) {
	if status < 200 || status > 299 {
		return Result{}, fmt.Errorf("%w: %d %s", ErrStatus, status, http.StatusText(status))
	}
	if !isJSON(contentType) {
		if len(body) == 0 && contentLength == 0 {
			return Result{}, ErrNoResult
		}
		return Result{}, fmt.Errorf("%w, not %q", ErrMediaType, contentType)
	}
	text := strings.TrimSpace(string(body))
	if text == "" || text == "null" {
		return Result{}, ErrNoResult
	}
	var wire struct {
		Outputs     map[string]json.RawMessage
		Logs        []scalar
		ReturnValue json.RawMessage
	}
	// A text behind the object is ignored, as Newtonsoft.Json ignores it.
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&wire); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrInvalidJSON, err)
	}
	r := Result{Outputs: wire.Outputs, ReturnValue: wire.ReturnValue}
	for _, line := range wire.Logs {
		r.Logs = append(r.Logs, string(line))
	}
	return r, nil
}

// scalar is a line of the logs: a list of strings to the host, which converts
// other scalars, and fails the invocation for objects and arrays.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	switch value.(type) {
	case map[string]any, []any:
		return errors.New("a line of Logs is no string")
	case nil:
		return nil
	}
	*s = scalar(fmt.Sprint(value))
	return nil
}

// Output gives an output by name, without regard to case, or nil.
func (r Result) Output(name string) json.RawMessage {
	for k, v := range r.Outputs {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "text/json")
}
