package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Trace is a trace context: what W3C Trace Context, section 3.2, writes as
// traceparent. The zero value is not valid; get one from ParseTrace, NewTrace
// or Child. It is a value and safe to copy.
type Trace struct {
	trace [16]byte
	span  [8]byte
	flags byte
}

// NewTrace starts a trace of its own, sampled.
func NewTrace() Trace {
	t := Trace{flags: 1}
	fill(t.trace[:])
	fill(t.span[:])
	return t
}

// fill writes random bytes that are not all zero, as the ids require.
func fill(b []byte) {
	for {
		rand.Read(b) // it never fails: crypto/rand ends the program instead
		for _, x := range b {
			if x != 0 {
				return
			}
		}
	}
}

// ParseTrace reads a traceparent. Of a version that is newer than 00 it takes
// the part that it knows, as section 3.2.4 asks.
func ParseTrace(s string) (Trace, error) {
	var t Trace
	var version, flags [1]byte
	bad := func(why string) (Trace, error) { return Trace{}, fmt.Errorf("traceparent %.80q: %s", s, why) }
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return bad("does not have the form version-trace-span-flags")
	}
	parts := []struct {
		into []byte
		from string
	}{{version[:], s[:2]}, {t.trace[:], s[3:35]}, {t.span[:], s[36:52]}, {flags[:], s[53:55]}}
	for _, part := range parts {
		if !lowerHex(part.from) {
			return bad("is not in lower-case hexadecimal")
		}
		if _, err := hex.Decode(part.into, []byte(part.from)); err != nil {
			return bad(err.Error())
		}
	}
	switch {
	case version[0] == 0xff:
		return bad("version ff is forbidden")
	case version[0] == 0 && len(s) != 55, len(s) > 55 && s[55] != '-':
		return bad("is too long")
	case t.trace == [16]byte{}, t.span == [8]byte{}:
		return bad("an id is all zeros")
	}
	t.flags = flags[0] & 1 // the other flags are not defined in version 00
	return t, nil
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Child returns a new span of the same trace.
func (t Trace) Child() Trace {
	fill(t.span[:])
	return t
}

// TraceID returns the trace's id in hexadecimal.
func (t Trace) TraceID() string { return hex.EncodeToString(t.trace[:]) }

// SpanID returns the span's id in hexadecimal.
func (t Trace) SpanID() string { return hex.EncodeToString(t.span[:]) }

// String returns the traceparent.
func (t Trace) String() string {
	return fmt.Sprintf("00-%x-%x-%02x", t.trace[:], t.span[:], t.flags)
}

type traceKey struct{}

// WithTrace returns a context that carries t.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the trace that ctx carries.
func TraceFrom(ctx context.Context) (Trace, bool) {
	t, ok := ctx.Value(traceKey{}).(Trace)
	return t, ok
}

// ContinueTrace returns a context with a child span of the given traceparent,
// or with a trace of its own if there is none that can be read: a caller's bad
// header is no reason to refuse its request.
func ContinueTrace(ctx context.Context, traceparent string) context.Context {
	if t, err := ParseTrace(traceparent); err == nil {
		return WithTrace(ctx, t.Child())
	}
	return WithTrace(ctx, NewTrace())
}

// TraceParent returns the traceparent of ctx, "" if it carries none.
func TraceParent(ctx context.Context) string {
	if t, ok := TraceFrom(ctx); ok {
		return t.String()
	}
	return ""
}
