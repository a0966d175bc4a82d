package amqp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// appendValue appends any value that decoder.value can return, and int and uint
// as long and ulong. Maps are written in the order of their encoded keys, so
// that equal values have equal encodings.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, codeNull), nil
	case map[string]any:
		return appendMap(b, v, appendString)
	case map[any]any:
		return appendAnyMap(b, v)
	case []any:
		return appendList(b, v)
	case Described:
		b, err := appendValue(append(b, codeDescribed), v.Descriptor)
		if err != nil {
			return b, err
		}
		return appendValue(b, v.Value)
	}
	if b, ok := appendScalar(b, v); ok {
		return b, nil
	}
	if b, ok := appendArray(b, v); ok {
		return b, nil
	}
	return b, fmt.Errorf("no AMQP type for %T", v)
}

func appendScalar(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case bool:
		return appendBool(b, v), true
	case uint8:
		return append(b, codeUbyte, v), true
	case uint16:
		return binary.BigEndian.AppendUint16(append(b, codeUshort), v), true
	case uint32:
		return appendUint(b, v), true
	case uint64:
		return appendUlong(b, v), true
	case uint:
		return appendUlong(b, uint64(v)), true
	case int8:
		return append(b, codeByte, byte(v)), true
	case int16:
		return binary.BigEndian.AppendUint16(append(b, codeShort), uint16(v)), true
	case int32:
		return appendInt(b, v), true
	case int64:
		return appendLong(b, v), true
	case int:
		return appendLong(b, int64(v)), true
	case float32:
		return binary.BigEndian.AppendUint32(append(b, codeFloat), math.Float32bits(v)), true
	case float64:
		return binary.BigEndian.AppendUint64(append(b, codeDouble), math.Float64bits(v)), true
	case time.Time:
		return appendTimestamp(b, v), true
	case Char:
		return binary.BigEndian.AppendUint32(append(b, codeChar), uint32(v)), true
	case UUID:
		return append(append(b, codeUUID), v[:]...), true
	case []byte:
		return appendBinary(b, v), true
	case string:
		return appendString(b, v), true
	case Symbol:
		return appendSymbol(b, string(v)), true
	case Decimal:
		return appendDecimal(b, v)
	default:
		return b, false
	}
}

func appendDecimal(b []byte, v Decimal) ([]byte, bool) {
	switch len(v) {
	case 4:
		b = append(b, codeDecimal32)
	case 8:
		b = append(b, codeDecimal64)
	case 16:
		b = append(b, codeDecimal128)
	default:
		return b, false
	}
	return append(b, v...), true
}

func appendList(b []byte, list []any) ([]byte, error) {
	if len(list) == 0 {
		return append(b, codeList0), nil
	}
	b, at := beginCompound(b, codeList32)
	for _, v := range list {
		var err error
		if b, err = appendValue(b, v); err != nil {
			return b, err
		}
	}
	return endCompound(b, at, len(list)), nil
}

// appendMap appends a map whose keys are written by key.
func appendMap(b []byte, m map[string]any, key func([]byte, string) []byte) ([]byte, error) {
	pairs := make([][]byte, 0, len(m))
	for k, v := range m {
		pair, err := appendValue(key(nil, k), v)
		if err != nil {
			return b, fmt.Errorf("%s: %w", k, err)
		}
		pairs = append(pairs, pair)
	}
	return appendPairs(b, pairs), nil
}

func appendAnyMap(b []byte, m map[any]any) ([]byte, error) {
	pairs := make([][]byte, 0, len(m))
	for k, v := range m {
		pair, err := appendValue(nil, k)
		if err == nil {
			pair, err = appendValue(pair, v)
		}
		if err != nil {
			return b, fmt.Errorf("%v: %w", k, err)
		}
		pairs = append(pairs, pair)
	}
	return appendPairs(b, pairs), nil
}

func appendPairs(b []byte, pairs [][]byte) []byte {
	slices.SortFunc(pairs, bytes.Compare)
	b, at := beginCompound(b, codeMap32)
	for _, pair := range pairs {
		b = append(b, pair...)
	}
	return endCompound(b, at, 2*len(pairs))
}
