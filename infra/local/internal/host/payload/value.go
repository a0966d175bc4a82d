package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/go-amqp"
)

// The formats of .NET dates. A dateTime of unspecified kind has no zone.
const (
	dateTime         = "2006-01-02T15:04:05"
	dateTimeFraction = "2006-01-02T15:04:05.9999999"
	utcOffset        = "+00:00"
)

// Text encodes v by the host's last rule: its JSON text, put in as a string.
// So a string becomes JSON twice, a number a string and an array a string that
// holds a JSON array.
func Text(v any) (json.RawMessage, error) {
	// Most values are numbers, and texts such as ids, which need no encoder.
	switch v := v.(type) {
	case string:
		if plain(v) {
			return json.RawMessage(`"\"` + v + `\""`), nil
		}
	case int64:
		return json.RawMessage(`"` + strconv.FormatInt(v, 10) + `"`), nil
	}
	inner, err := marshal(v)
	if err != nil {
		return nil, err
	}
	return marshal(string(inner))
}

// plain reports whether s is the same in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Bytes encodes b as one JSON string in base64.
func Bytes(b []byte) json.RawMessage {
	text := make([]byte, 1, base64.StdEncoding.EncodedLen(len(b))+2)
	text[0] = '"'
	return append(base64.StdEncoding.AppendEncode(text, b), '"')
}

// DateTime encodes a UTC time the way the host does: whole seconds, no zone.
func DateTime(t time.Time) json.RawMessage {
	return json.RawMessage(t.UTC().Format(`"` + dateTime + `"`))
}

// DateTimeOffset encodes a time with the offset +00:00 and whole seconds.
func DateTimeOffset(t time.Time) json.RawMessage {
	return json.RawMessage(t.UTC().Format(`"` + dateTime + utcOffset + `"`))
}

// Object encodes a map or struct as a plain JSON object.
func Object(v any) (json.RawMessage, error) { return marshal(v) }

// marshal writes v as Newtonsoft.Json does: HTML characters stay, U+0085 is
// escaped. Values that came over AMQP are to be passed through fromAMQP first.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return bytes.ReplaceAll(out, []byte("\u0085"), []byte(`\u0085`)), nil
}

// fromAMQP gives the value that marshals as the .NET value of an AMQP type
// does.
func fromAMQP(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(dateTimeFraction) + "Z"
	case amqp.UUID:
		return v.String()
	case amqp.Symbol:
		return string(v)
	case float32:
		return float(float64(v), 32)
	case float64:
		return float(v, 64)
	case map[string]any:
		return properties(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fromAMQP(e)
		}
		return out
	default:
		return v
	}
}

// float keeps the decimal point of whole numbers and names what JSON has no
// number for.
func float(v float64, size int) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(v, 'f', -1, size)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return json.RawMessage(text)
}

// properties converts application properties; nil is an empty object.
func properties(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = fromAMQP(v)
	}
	return out
}

// fraction writes a time with its fraction and no zone, as in arrays of
// DateTime.
func fraction(t time.Time) string { return t.UTC().Format(dateTimeFraction) }

// fractionOffset writes a time as in arrays of DateTimeOffset.
func fractionOffset(t time.Time) string { return fraction(t) + utcOffset }

// at is the time t points to, or the .NET default of year 1.
func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
