package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errCutShort = errors.New("a value is cut short")

// DecodeValue decodes a value that fills b, nil for null. Its types are those of
// this package and go-amqp's; maps are map[string]any when all keys are strings
// or symbols, map[any]any otherwise; lists []any; arrays slices of their element.
func DecodeValue(b []byte) (any, error) {
	d := decoder{b: b}
	v := d.value(0)
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes behind a value", len(d.b))
	}
	return v, d.err
}

// AppendValue appends the encoding of any value that DecodeValue returns, and of
// int and uint as long and ulong; map[string]any gets keys of type string.
func AppendValue(b []byte, v any) ([]byte, error) { return appendValue(b, v) }

// ValueSize is how many bytes the value at the start of b takes, its constructor
// included (OASIS part 1, section 1.2): the upper half of a format code tells
// the width. What is in a compound value is not looked at.
func ValueSize(b []byte) (int, error) {
	prefix := 0
	// A described value: its descriptor is itself a value.
	for len(b) > prefix && b[prefix] == codeDescribed {
		prefix++
		n, err := plainSize(b[prefix:])
		if err != nil {
			return 0, err
		}
		prefix += n
	}
	n, err := plainSize(b[prefix:])
	return prefix + n, err
}

func plainSize(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errCutShort
	}
	size := uint64(0)
	switch b[0] >> 4 {
	case 0x4:
		size = 1
	case 0x5:
		size = 2
	case 0x6:
		size = 3
	case 0x7:
		size = 5
	case 0x8:
		size = 9
	case 0x9:
		size = 17
	case 0xa, 0xc, 0xe:
		if len(b) < 2 {
			return 0, errCutShort
		}
		size = 2 + uint64(b[1])
	case 0xb, 0xd, 0xf:
		if len(b) < 5 {
			return 0, errCutShort
		}
		size = 5 + uint64(binary.BigEndian.Uint32(b[1:]))
	default:
		return 0, fmt.Errorf("unknown format code %#x", b[0])
	}
	if size > uint64(len(b)) {
		return 0, errCutShort
	}
	return int(size), nil
}
