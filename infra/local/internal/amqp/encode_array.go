package amqp

import (
	"encoding/binary"
	"math"
	"time"
)

// appendArray appends a slice with an element type as an AMQP array.
func appendArray(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case []bool:
		return arrayOf(b, codeBool, v, appendBoolByte), true
	case []uint16:
		return arrayOf(b, codeUshort, v, binary.BigEndian.AppendUint16), true
	case []uint32:
		return arrayOf(b, codeUint, v, binary.BigEndian.AppendUint32), true
	case []uint64:
		return arrayOf(b, codeUlong, v, binary.BigEndian.AppendUint64), true
	case []int8:
		return arrayOf(b, codeByte, v, func(b []byte, v int8) []byte { return append(b, byte(v)) }), true
	case []int16:
		return arrayOf(b, codeShort, v, func(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }), true
	case []int32:
		return arrayOf(b, codeInt, v, func(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }), true
	case []int64:
		return arrayOf(b, codeLong, v, func(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }), true
	case []float32:
		return arrayOf(b, codeFloat, v, func(b []byte, v float32) []byte {
			return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}), true
	case []float64:
		return arrayOf(b, codeDouble, v, func(b []byte, v float64) []byte {
			return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		}), true
	case []time.Time:
		return arrayOf(b, codeTimestamp, v, func(b []byte, v time.Time) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(v.UnixMilli()))
		}), true
	case []UUID:
		return arrayOf(b, codeUUID, v, func(b []byte, v UUID) []byte { return append(b, v[:]...) }), true
	case [][]byte:
		return arrayOf(b, codeBinary32, v, appendSized[[]byte]), true
	case []string:
		return arrayOf(b, codeString32, v, appendSized[string]), true
	case []Symbol:
		return arrayOf(b, codeSymbol32, v, appendSized[Symbol]), true
	default:
		return b, false
	}
}

func arrayOf[T any](b []byte, code byte, list []T, element func([]byte, T) []byte) []byte {
	b, at := beginCompound(b, codeArray32)
	b = append(b, code)
	for _, v := range list {
		b = element(b, v)
	}
	return endCompound(b, at, len(list))
}

// appendSized appends an element of variable width without its constructor.
func appendSized[T ~string | ~[]byte](b []byte, v T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

func appendBoolByte(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
