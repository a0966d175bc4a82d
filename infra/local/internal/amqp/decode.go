package amqp

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// maxDepth bounds how deep described values, lists, maps and arrays may nest,
// so that a peer can't exhaust the stack.
const maxDepth = 32

// decoder reads values from the front of b. The first error sticks: every later
// read returns a zero value, so that callers check err once. Byte slices it
// returns point into b.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.b = nil
}

// take returns the next n bytes, nil when there are not as many.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.fail("value of %d bytes, %d left", n, len(d.b))
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("unexpected end")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) be16() uint16 {
	if v := d.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (d *decoder) be32() uint32 {
	if v := d.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (d *decoder) be64() uint64 {
	if v := d.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

// length32 is a four byte length that fits what is left.
func (d *decoder) length32() int {
	n := d.be32()
	if n > math.MaxInt32 {
		d.fail("length %d too large", n)
		return 0
	}
	return int(n)
}

func (d *decoder) wrong(want string, code byte) {
	d.fail("constructor 0x%02x where %s belongs", code, want)
}

// The readers come in pairs: x reads a constructor and its value, xOf a value
// whose constructor was read (in an array it stands once for all elements).

func (d *decoder) bool() bool     { return d.boolOf(d.byte()) }
func (d *decoder) uint() uint32   { return d.uintOf(d.byte()) }
func (d *decoder) ulong() uint64  { return d.ulongOf(d.byte()) }
func (d *decoder) binary() []byte { return d.binaryOf(d.byte()) }
func (d *decoder) symbol() string { return d.symbolOf(d.byte()) }
func (d *decoder) string() string { return d.stringOf(d.byte()) }

func (d *decoder) boolOf(code byte) bool {
	switch code {
	case codeTrue:
		return true
	case codeFalse:
		return false
	case codeBool:
		v := d.byte()
		if v > 1 {
			d.fail("boolean of value %d", v)
		}
		return v == 1
	default:
		d.wrong("boolean", code)
		return false
	}
}

func (d *decoder) ubyte() byte {
	if code := d.byte(); code != codeUbyte {
		d.wrong("ubyte", code)
		return 0
	}
	return d.byte()
}

func (d *decoder) ushort() uint16 {
	if code := d.byte(); code != codeUshort {
		d.wrong("ushort", code)
		return 0
	}
	return d.be16()
}

func (d *decoder) uintOf(code byte) uint32 {
	switch code {
	case codeUint0:
		return 0
	case codeSmallUint:
		return uint32(d.byte())
	case codeUint:
		return d.be32()
	default:
		d.wrong("uint", code)
		return 0
	}
}

func (d *decoder) ulongOf(code byte) uint64 {
	switch code {
	case codeUlong0:
		return 0
	case codeSmallUlong:
		return uint64(d.byte())
	case codeUlong:
		return d.be64()
	default:
		d.wrong("ulong", code)
		return 0
	}
}

// variable reads a value of variable width whose constructor is one of the two.
func (d *decoder) variable(want string, code, short, long byte) []byte {
	switch code {
	case short:
		return d.take(int(d.byte()))
	case long:
		return d.take(d.length32())
	default:
		d.wrong(want, code)
		return nil
	}
}

func (d *decoder) binaryOf(code byte) []byte {
	return d.variable("binary", code, codeBinary8, codeBinary32)
}

func (d *decoder) symbolOf(code byte) string {
	return string(d.variable("symbol", code, codeSymbol8, codeSymbol32))
}

func (d *decoder) stringOf(code byte) string {
	v := d.variable("string", code, codeString8, codeString32)
	if !utf8.Valid(v) {
		d.fail("string is not UTF-8")
		return ""
	}
	return string(v)
}

// descriptor reads the start of a described value and returns its numeric
// descriptor, descUnknown for a symbolic one that is not known.
func (d *decoder) descriptor() uint64 {
	if code := d.byte(); code != codeDescribed {
		d.wrong("a described value", code)
		return descUnknown
	}
	if len(d.b) > 0 && (d.b[0] == codeSymbol8 || d.b[0] == codeSymbol32) {
		if code, ok := symbolic[d.symbol()]; ok {
			return code
		}
		return descUnknown
	}
	return d.ulong()
}

// byteOr32 is the size or count of a compound value.
func (d *decoder) byteOr32(wide bool) int {
	if wide {
		return d.length32()
	}
	return int(d.byte())
}

// compound reads the size and count of a list, map or array whose constructor
// was read, and returns a decoder for its contents.
func (d *decoder) compound(wide bool) (decoder, int) {
	size := d.byteOr32(wide)
	body := decoder{b: d.take(size)}
	body.err = d.err
	count := body.byteOr32(wide)
	return body, d.checkCount(&body, count)
}

// checkCount refuses a count that the bytes can't hold. Elements of arrays may
// take no bytes at all, so that maxEmpty of them pass for any size.
func (d *decoder) checkCount(body *decoder, count int) int {
	const maxEmpty = 4096
	if count > len(body.b) && count > maxEmpty {
		body.fail("%d elements in %d bytes", count, len(body.b))
	}
	if body.err != nil {
		if d.err == nil {
			d.err = body.err
		}
		return 0
	}
	return count
}
