package payload

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

var errTrailing = errors.New("text after the JSON value")

// An Invocation is one request to a handler: POST /<Function> with this body.
type Invocation struct {
	Data     Fields
	Metadata Fields
	// ID is the invocation's, the same for all attempts of a retry policy; "" for
	// a new one. It is no part of the body.
	ID string
	// TraceParent is the trace context that a single message carries, "" if it
	// carries none. It is no part of the body.
	TraceParent string
}

// Sys is what the host adds to every invocation's metadata.
type Sys struct {
	MethodName string // the function's name
	UtcNow     time.Time
	RandGuid   string
}

// Retry is the state of a retry policy.
type Retry struct {
	Count    int   // attempts before this one
	MaxCount int   // -1 for ever
	Err      error // of the attempt before, nil for the first
}

// Encode writes the body. retry is nil for functions without a retry policy.
// Metadata whose name ends in "trigger" is left out, as the host does.
func (i Invocation) Encode(sys Sys, retry *Retry) ([]byte, error) {
	const trigger = "trigger"
	meta := Fields{list: make([]field, 0, len(i.Metadata.list)+2)}
	for _, e := range i.Metadata.list {
		if cut := len(e.name) - len(trigger); cut < 0 || !strings.EqualFold(e.name[cut:], trigger) {
			meta.list = append(meta.list, e)
		}
	}
	if retry != nil {
		if err := meta.objects("RetryContext", retryContext(*retry)); err != nil {
			return nil, err
		}
	}
	err := meta.objects("sys", struct {
		MethodName, UtcNow, RandGuid string
	}{sys.MethodName, fraction(sys.UtcNow) + "Z", sys.RandGuid})
	if err != nil {
		return nil, err
	}
	const data, metadata = `{"Data":`, `,"Metadata":`
	b := append(make([]byte, 0, len(data)+i.Data.size()+len(metadata)+meta.size()+8), data...)
	if b, err = i.Data.append(b); err != nil {
		return nil, err
	}
	if b, err = meta.append(append(b, metadata...)); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

type exception struct {
	Message string
}

func retryContext(r Retry) any {
	out := struct {
		RetryCount, MaxRetryCount int
		Exception                 *exception
	}{RetryCount: r.Count, MaxRetryCount: r.MaxCount}
	if r.Err != nil {
		out.Exception = &exception{r.Err.Error()}
	}
	return out
}

// DataType is how a trigger wants its value.
type DataType int

// The data types of function.json.
const (
	String DataType = iota // dataType "string", or none
	Binary                 // dataType "binary"
)

// single encodes one trigger value: its bytes, or the text that they are.
func (t DataType) single(body []byte, text string) (json.RawMessage, error) {
	if t == Binary {
		return Bytes(body), nil
	}
	return Text(text)
}
