package amqp

import (
	"math"
	"time"
	"unicode/utf8"

	goamqp "github.com/Azure/go-amqp"
)

// Values of AMQP types that Go has no own type for. The Server uses go-amqp's
// types, so that what it decodes can be put into a goamqp.Message and back.
type (
	// Symbol is an AMQP symbol.
	Symbol = goamqp.Symbol
	// UUID is an AMQP uuid.
	UUID = goamqp.UUID
	// Char is an AMQP char, one Unicode code point.
	Char rune
	// Decimal is an AMQP decimal32, decimal64 or decimal128 as its 4, 8 or 16
	// raw bytes.
	Decimal string
	// Described is a value with a descriptor that is no known composite type.
	Described struct {
		Descriptor any // Symbol, uint64 or, as pyamqp sends it, []byte
		Value      any
	}
)

// value decodes any value, nil for null. Maps become map[string]any when all
// keys are strings or symbols, map[any]any otherwise; lists []any; arrays see
// array.
func (d *decoder) value(depth int) any { return d.valueOf(d.byte(), depth) }

func (d *decoder) valueOf(code byte, depth int) any {
	if depth > maxDepth {
		d.fail("nested deeper than %d", maxDepth)
	}
	if d.err != nil {
		return nil
	}
	switch code {
	case codeDescribed:
		descriptor := d.anyDescriptor(depth)
		return Described{Descriptor: descriptor, Value: d.value(depth + 1)}
	case codeList0:
		return []any{}
	case codeList8, codeList32:
		return d.anyList(code == codeList32, depth)
	case codeMap8, codeMap32:
		return d.anyMap(code == codeMap32, depth)
	case codeArray8, codeArray32:
		return d.array(code == codeArray32, depth)
	default:
		return d.scalar(code)
	}
}

// anyDescriptor decodes the descriptor of a described value.
func (d *decoder) anyDescriptor(depth int) any {
	switch descriptor := d.value(depth + 1).(type) {
	case Symbol, uint64, []byte:
		return descriptor
	default:
		d.fail("descriptor of type %T", descriptor)
		return nil
	}
}

// scalar decodes a value that is neither compound nor described.
func (d *decoder) scalar(code byte) any {
	switch code {
	case codeNull:
		return nil
	case codeTrue, codeFalse, codeBool:
		return d.boolOf(code)
	case codeUbyte:
		return d.byte()
	case codeUshort:
		return d.be16()
	case codeUint0, codeSmallUint, codeUint:
		return d.uintOf(code)
	case codeUlong0, codeSmallUlong, codeUlong:
		return d.ulongOf(code)
	case codeByte:
		return int8(d.byte())
	case codeShort:
		return int16(d.be16())
	case codeSmallInt:
		return int32(int8(d.byte()))
	case codeInt:
		return int32(d.be32())
	case codeSmallLong:
		return int64(int8(d.byte()))
	case codeLong:
		return int64(d.be64())
	case codeFloat:
		return math.Float32frombits(d.be32())
	case codeDouble:
		return math.Float64frombits(d.be64())
	case codeTimestamp:
		return time.UnixMilli(int64(d.be64())).UTC()
	case codeChar:
		return d.char()
	case codeDecimal32:
		return Decimal(d.take(4))
	case codeDecimal64:
		return Decimal(d.take(8))
	case codeDecimal128:
		return Decimal(d.take(16))
	case codeUUID:
		return d.uuid()
	case codeBinary8, codeBinary32:
		return append([]byte{}, d.binaryOf(code)...)
	case codeString8, codeString32:
		return d.stringOf(code)
	case codeSymbol8, codeSymbol32:
		return Symbol(d.symbolOf(code))
	default:
		d.fail("unknown constructor 0x%02x", code)
		return nil
	}
}

func (d *decoder) uuid() (id UUID) {
	copy(id[:], d.take(len(id)))
	return id
}

func (d *decoder) char() Char {
	v := d.be32()
	if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		d.fail("char 0x%x is no code point", v)
		return 0
	}
	return Char(v)
}

func (d *decoder) anyList(wide bool, depth int) []any {
	body, n := d.compound(wide)
	list := make([]any, 0, min(n, 16))
	for range n {
		list = append(list, body.value(depth+1))
		if body.err != nil {
			d.fail("list: %w", body.err)
			return nil
		}
	}
	return list
}

func (d *decoder) anyMap(wide bool, depth int) any {
	body, n := d.compound(wide)
	if n%2 != 0 {
		d.fail("map of %d values", n)
		return nil
	}
	m := make(map[any]any, min(n/2, 16))
	for range n / 2 {
		key := body.key(depth)
		v := body.value(depth + 1)
		if _, twice := m[key]; twice {
			body.fail("key %v twice", key)
		}
		if body.err != nil {
			d.fail("map: %w", body.err)
			return nil
		}
		m[key] = v
	}
	return byName(m)
}

// key decodes a map's key, which must be of a type that Go can compare.
func (d *decoder) key(depth int) any {
	switch key := d.value(depth + 1).(type) {
	case string, Symbol, bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, UUID, Char, time.Time:
		return key
	default:
		d.fail("map key of type %T", key)
		return nil
	}
}

// byName returns m keyed by string when every key is a string or a symbol and
// no two are equal as strings.
func byName(m map[any]any) any {
	named := make(map[string]any, len(m))
	for key, v := range m {
		name := ""
		switch key := key.(type) {
		case string:
			name = key
		case Symbol:
			name = string(key)
		default:
			return m
		}
		named[name] = v
	}
	if len(named) != len(m) {
		return m
	}
	return named
}
