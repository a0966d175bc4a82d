package amqp

import (
	"math"
	"time"
)

// array decodes an array into a slice of its element type: []string, []Symbol,
// []bool, []int64, []time.Time and so on. Arrays of ubyte, of compound and of
// described values become []any, since []uint8 is AMQP binary in Go.
func (d *decoder) array(wide bool, depth int) any {
	body, n := d.compound(wide)
	code := body.byte()
	v := body.elements(code, n, depth)
	if body.err != nil {
		d.fail("array: %w", body.err)
		return nil
	}
	return v
}

func (d *decoder) elements(code byte, n, depth int) any {
	switch code {
	case codeTrue, codeFalse, codeBool:
		return each(d, n, func() bool { return d.boolOf(code) })
	case codeUshort:
		return each(d, n, d.be16)
	case codeUint0, codeSmallUint, codeUint:
		return each(d, n, func() uint32 { return d.uintOf(code) })
	case codeUlong0, codeSmallUlong, codeUlong:
		return each(d, n, func() uint64 { return d.ulongOf(code) })
	case codeByte:
		return each(d, n, func() int8 { return int8(d.byte()) })
	case codeShort:
		return each(d, n, func() int16 { return int16(d.be16()) })
	case codeSmallInt, codeInt:
		return each(d, n, func() int32 { v, _ := d.scalar(code).(int32); return v })
	case codeSmallLong, codeLong:
		return each(d, n, func() int64 { v, _ := d.scalar(code).(int64); return v })
	case codeFloat:
		return each(d, n, func() float32 { return math.Float32frombits(d.be32()) })
	case codeDouble:
		return each(d, n, func() float64 { return math.Float64frombits(d.be64()) })
	case codeTimestamp:
		return each(d, n, func() time.Time { return time.UnixMilli(int64(d.be64())).UTC() })
	case codeUUID:
		return each(d, n, d.uuid)
	case codeBinary8, codeBinary32:
		return each(d, n, func() []byte { return append([]byte{}, d.binaryOf(code)...) })
	case codeString8, codeString32:
		return each(d, n, func() string { return d.stringOf(code) })
	case codeSymbol8, codeSymbol32:
		return each(d, n, func() Symbol { return Symbol(d.symbolOf(code)) })
	case codeDescribed:
		descriptor := d.anyDescriptor(depth)
		inner := d.byte()
		return each(d, n, func() any {
			return Described{Descriptor: descriptor, Value: d.valueOf(inner, depth+1)}
		})
	default:
		return each(d, n, func() any { return d.valueOf(code, depth+1) })
	}
}

// each reads n elements, none after an error.
func each[T any](d *decoder, n int, read func() T) []T {
	list := make([]T, 0, min(n, 16))
	for range n {
		v := read()
		if d.err != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}
