package amqp

import (
	"encoding/binary"
	"math"
	"time"
)

// The append functions append one encoded value to b, in its shortest form.

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

func appendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, codeUint0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUint, byte(v))
	default:
		return binary.BigEndian.AppendUint32(append(b, codeUint), v)
	}
}

func appendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, codeUlong0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUlong, byte(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, codeUlong), v)
	}
}

func appendInt(b []byte, v int32) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(b, codeSmallInt, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(b, codeInt), uint32(v))
}

func appendLong(b []byte, v int64) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(b, codeSmallLong, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, codeLong), uint64(v))
}

func appendTimestamp(b []byte, v time.Time) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeTimestamp), uint64(v.UnixMilli()))
}

// appendLength appends a constructor of variable width and its length.
func appendLength(b []byte, short, long byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(b, short, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, long), uint32(n))
}

func appendBinary(b, v []byte) []byte {
	return append(appendLength(b, codeBinary8, codeBinary32, len(v)), v...)
}

func appendString(b []byte, v string) []byte {
	return append(appendLength(b, codeString8, codeString32, len(v)), v...)
}

func appendSymbol(b []byte, v string) []byte {
	return append(appendLength(b, codeSymbol8, codeSymbol32, len(v)), v...)
}

// beginCompound appends the head of a wide compound value and returns where its
// size stands; endCompound fills in size and count.
func beginCompound(b []byte, code byte) ([]byte, int) {
	b = append(b, code, 0, 0, 0, 0, 0, 0, 0, 0)
	return b, len(b) - 8
}

func endCompound(b []byte, at, count int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	binary.BigEndian.PutUint32(b[at+4:], uint32(count))
	return b
}

// composite writes the fields of a described list, all of them: nulls at the end
// may be left out (part 1, section 1.4), but Microsoft's Python SDKs (package
// pyamqp) take every field by its index.
type composite struct {
	b     []byte
	at    int
	count int
}

func beginComposite(b []byte, descriptor byte) composite {
	b = append(b, codeDescribed, codeSmallUlong, descriptor)
	b, at := beginCompound(b, codeList32)
	return composite{b: b, at: at}
}

// field counts one field, whose value follows.
func (c *composite) field() { c.count++ }

// null writes n absent fields.
func (c *composite) null(n int) {
	for range n {
		c.b = append(c.b, codeNull)
	}
	c.count += n
}

func (c *composite) end() []byte { return endCompound(c.b, c.at, c.count) }

func (c *composite) bool(v bool)        { c.field(); c.b = appendBool(c.b, v) }
func (c *composite) ubyte(v byte)       { c.field(); c.b = append(c.b, codeUbyte, v) }
func (c *composite) uint(v uint32)      { c.field(); c.b = appendUint(c.b, v) }
func (c *composite) ulong(v uint64)     { c.field(); c.b = appendUlong(c.b, v) }
func (c *composite) binary(v []byte)    { c.field(); c.b = appendBinary(c.b, v) }
func (c *composite) string(v string)    { c.field(); c.b = appendString(c.b, v) }
func (c *composite) symbol(v string)    { c.field(); c.b = appendSymbol(c.b, v) }
func (c *composite) ms(v time.Duration) { c.uint(uint32(v / time.Millisecond)) }
func (c *composite) ushort(v uint16) {
	c.field()
	c.b = binary.BigEndian.AppendUint16(append(c.b, codeUshort), v)
}

func (c *composite) optUint(v optional) {
	if v.ok {
		c.uint(v.value)
	} else {
		c.null(1)
	}
}

// flag leaves a boolean out when it has its default, false.
func (c *composite) flag(v bool) {
	if v {
		c.bool(true)
	} else {
		c.null(1)
	}
}

func (c *composite) optString(v string) {
	if v != "" {
		c.string(v)
	} else {
		c.null(1)
	}
}
