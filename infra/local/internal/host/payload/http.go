package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// HTTPRequest is what the default mode of HTTP functions shows the handler of
// a request.
type HTTPRequest struct {
	URL    string // absolute
	Method string
	Query  url.Values
	Header http.Header
	Params map[string]string
	Body   []byte
	// Length is the request's Content-Length. Without one (-1) or with 0 the
	// body is left out: chunked uploads lose it in the real host, too.
	Length int64
}

// HTTP encodes an invocation of an HTTP function in the default (envelope)
// mode.
func HTTP(binding string, r HTTPRequest) (Invocation, error) {
	query := make(map[string]string, len(r.Query))
	for name, values := range r.Query {
		query[name] = strings.Join(values, ",")
	}
	headers := make(map[string]string, len(r.Header))
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ",")
	}
	params := r.Params
	if params == nil {
		params = map[string]string{}
	}
	value := struct {
		URL        string `json:"Url"`
		Method     string
		Query      map[string]string
		Headers    http.Header
		Params     map[string]string
		Identities []struct{}
		Body       *string `json:",omitempty"`
	}{URL: r.URL, Method: r.Method, Query: query, Headers: r.Header, Params: params, Identities: []struct{}{}}
	var inv Invocation
	if r.Length > 0 {
		body := httpBody(r)
		value.Body = &body
	}
	if err := inv.Data.objects(binding, value); err != nil {
		return inv, err
	}
	m := &inv.Metadata
	if err := m.objects("Params", params, "Query", query, "Headers", headers); err != nil {
		return inv, err
	}
	for _, source := range []map[string]string{query, params} {
		for name, v := range source {
			if err := m.texts(name, v); err != nil {
				return inv, err
			}
		}
	}
	if value.Body != nil {
		return inv, m.leak(*value.Body)
	}
	return inv, nil
}

func httpBody(r HTTPRequest) string {
	media := strings.ToLower(r.Header.Get("Content-Type"))
	if strings.HasPrefix(media, "application/octet-stream") || strings.HasPrefix(media, "multipart/") {
		return base64.StdEncoding.EncodeToString(r.Body)
	}
	return lossy(r.Body)
}

// HTTPResponse is an HTTP function's output in the default mode.
type HTTPResponse struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

// DecodeHTTP reads the output of an HTTP function. Of its fields only
// statusCode (or status), headers and body count. A value that is no object is
// the body of a 200.
func DecodeHTTP(output json.RawMessage) (HTTPResponse, error) {
	out := HTTPResponse{StatusCode: http.StatusOK, Header: http.Header{}}
	if len(output) == 0 || string(output) == "null" {
		return out, nil
	}
	if output[0] != '{' {
		body, _, err := httpContent(output)
		out.Body = body
		return out, err
	}
	var wire struct {
		StatusCode, Status json.RawMessage
		Headers            map[string]any
		Body               json.RawMessage
	}
	if err := json.Unmarshal(output, &wire); err != nil {
		return out, fmt.Errorf("HTTP output: %w", err)
	}
	for _, raw := range []json.RawMessage{wire.Status, wire.StatusCode} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if _, err := fmt.Sscan(strings.Trim(string(raw), `"`), &out.StatusCode); err != nil || out.StatusCode < 100 || out.StatusCode > 999 {
			return out, fmt.Errorf("HTTP output: status %s is not an HTTP status", raw)
		}
	}
	body, isObject, err := httpContent(wire.Body)
	if err != nil {
		return out, err
	}
	out.Body = body
	if isObject {
		out.Header.Set("Content-Type", "application/json; charset=utf-8")
	} else if len(body) > 0 {
		out.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, value := range wire.Headers {
		out.Header.Set(name, fmt.Sprint(value))
	}
	return out, nil
}

// httpContent gives a body's bytes: a string as it is, anything else as JSON.
func httpContent(raw json.RawMessage) (body []byte, isObject bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false, nil
	}
	if raw[0] != '"' {
		return raw, true, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, false, fmt.Errorf("HTTP output: body: %w", err)
	}
	return []byte(s), false, nil
}
