package cosmos

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// A position is where the next page of a query begins. It names places by keys
// that outlive writes: the sequence of the last item seen, or the values by
// which it was sorted.
type position struct {
	Query    string            `json:"q"`           // identifies container and query
	Range    int               `json:"r"`           // index of the range being read
	Sequence uint64            `json:"s,omitempty"` // of the last item seen
	Span     int               `json:"i,omitempty"` // in which part of an index it was seen
	Term     json.RawMessage   `json:"v,omitempty"` // and by which value there, in an array
	Keys     []json.RawMessage `json:"k,omitempty"` // its ORDER BY values; empty for a missing one
	Tie      string            `json:"t,omitempty"` // what orders rows with equal keys
	Started  bool              `json:"b,omitempty"` // Keys and Tie are set
	Skip     int               `json:"o,omitempty"` // results of OFFSET still to pass over
	Left     int               `json:"l"`           // results of TOP or LIMIT still to give; -1: no limit
}

// keys gives Keys as values.
func (p position) keys() ([]sql.Value, error) {
	keys := make([]sql.Value, len(p.Keys))
	for i, text := range p.Keys {
		if string(text) == "[]" {
			continue // Undefined
		}
		v, err := sql.Decode(text)
		if err != nil || v.Len() != 1 {
			return nil, errContinuation()
		}
		keys[i] = v.Index(0)
	}
	return keys, nil
}

// setKeys keeps values, each in an array so that Undefined has a form.
func (p *position) setKeys(keys []sql.Value) {
	p.Keys = make([]json.RawMessage, len(keys))
	for i, v := range keys {
		p.Keys[i] = json.RawMessage("[]")
		if v.Kind() != sql.Undefined {
			p.Keys[i] = sql.AppendJSON(nil, sql.ArrayValue(v))
		}
	}
}

// place is where the scan goes on.
func (p position) place() (place, error) {
	at := place{span: p.Span, sequence: p.Sequence}
	if p.Term != nil {
		v, err := sql.Decode(p.Term)
		if err != nil || v.Len() != 1 || p.Span < 0 {
			return at, errContinuation()
		}
		at.value = v.Index(0)
	}
	return at, nil
}

// move sets the place behind which the scan goes on.
func (p *position) move(at place) {
	p.Span, p.Sequence, p.Term = at.span, at.sequence, nil
	if at.value.Kind() != sql.Undefined {
		p.Term = sql.AppendJSON(nil, sql.ArrayValue(at.value))
	}
}

func (p position) token() (string, error) {
	text, err := json.Marshal(p)
	return base64.URLEncoding.EncodeToString(text), err
}

// parsePosition reads a continuation token of the same query.
func parsePosition(token, query string, ranges int) (position, error) {
	var p position
	text, err := base64.URLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Query != query || p.Range < 0 || p.Range >= ranges {
		return p, errContinuation()
	}
	return p, nil
}

func errContinuation() *apiError {
	return badRequest("Invalid Continuation Token")
}

// queryIdentity is what a token must have in common with the query that it
// continues.
func queryIdentity(parts ...string) string {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(parts, "\x00")))
	return strconv.FormatUint(h.Sum64(), 36)
}
