package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ReadJSON reads the body of r, at most limit bytes, into the value that into
// points to. It is strict: see ReadBody and Decode. What is wrong is returned as
// a problem that can be written as it is.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) *Problem {
	data, p := ReadBody(w, r, limit)
	if p != nil {
		return p
	}
	return Decode(data, into)
}

// ReadBody reads the body of r, at most limit bytes, for a reader that is as
// strict as Decode. The problem is 415 for another content type than
// application/json in UTF-8 and for a body that is compressed, 413 over the
// limit, and 400 for a body that does not arrive whole.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Problem) {
	if p := checkMediaType(r.Header.Get("Content-Type")); p != nil {
		return nil, p
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, New(Unsupported, "the body must not be compressed")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, New(TooLarge, "the body may have up to %d bytes", limit)
		}
		return nil, New(Malformed, "the body did not arrive whole")
	}
	return data, nil
}

func checkMediaType(header string) *Problem {
	media, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return New(Unsupported, "the content type has to be application/json in UTF-8")
	}
	return nil
}

// Decode reads exactly one JSON value into the value that into points to. On
// top of what encoding/json refuses, it refuses bytes that are not UTF-8,
// fields that the type doesn't know (names are case-sensitive), fields given
// twice, and null for what can't be nil. It returns nil, or a 400 that lists
// the faulty parts with their pointers, 50 at most; then *into is left alone.
func Decode(data []byte, into any) *Problem {
	target := reflect.ValueOf(into).Elem()
	read := reflect.New(target.Type()).Elem()
	read.Set(target)
	faults, p := decode(data, read)
	if p != nil {
		return p
	}
	if len(faults) > 0 {
		p := New(Invalid, "")
		p.Errors = faults
		return p
	}
	target.Set(read)
	return nil
}

// decode reads a body into v, and returns what doesn't fit. The problem is for one
// that is no JSON value at all.
func decode(data []byte, v reflect.Value) ([]Field, *Problem) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, New(Malformed, "the body is empty")
	case !utf8.Valid(data):
		return nil, New(Malformed, "the body is not UTF-8")
	case !json.Valid(data):
		return nil, malformed(data)
	}
	d := decoder{data: data}
	d.value(v)
	return d.faults, nil
}

// malformed tells where a body stops being one JSON value.
func malformed(data []byte) *Problem {
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&whole); err != nil {
		return malformedAt(data, err)
	}
	rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n")
	line, column := position(data, len(data)-len(rest))
	return New(Malformed, "line %d, column %d: there is something behind the JSON value", line, column)
}

func malformedAt(data []byte, err error) *Problem {
	offset := len(data) // an unexpected end
	what := "the JSON value ends too early"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset, what = int(syntax.Offset)-1, syntax.Error()
	}
	line, column := position(data, offset)
	return New(Malformed, "line %d, column %d: %s", line, column, what)
}

// position returns the line and the column (in bytes) of an offset, both from
// 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}
