package amqp

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// values are one of each type, in the form that decoding gives.
func values() []any {
	return []any{
		nil, true, false, uint8(7), uint16(700), uint32(0), uint32(7), uint32(70_000), uint64(0), uint64(7), uint64(1 << 40),
		int8(-7), int16(-700), int32(-7), int32(-70_000), int64(-7), int64(-1 << 40), int64(math.MinInt64),
		float32(1.5), 2.5, Char('ß'), Decimal("1234"), Decimal("12345678"), Decimal("1234567890123456"),
		time.UnixMilli(-1).UTC(), time.UnixMilli(253402300800000).UTC(), UUID{1, 2, 3},
		[]byte{}, []byte("binary"), bytes.Repeat([]byte{1}, 300), "", "string", strings.Repeat("s", 300), Symbol("symbol"), Symbol(strings.Repeat("s", 300)),
		[]any{}, []any{int32(1), "two", nil, []any{true}},
		map[string]any{"a": int64(1), "b": []any{}}, map[string]any{}, map[any]any{int32(1): "one", UUID{1}: nil},
		Described{Descriptor: uint64(0x468C00000004), Value: "filter"}, Described{Descriptor: Symbol("x:y"), Value: []any{}},
		[]bool{true, false}, []uint16{1, 2}, []uint32{1, 70_000}, []uint64{1, 1 << 40}, []int8{-1}, []int16{-1}, []int32{-1, 70_000}, []int64{-1, 1 << 40},
		[]float32{1.5}, []float64{2.5}, []time.Time{time.UnixMilli(1).UTC()}, []UUID{{1}}, [][]byte{[]byte("x"), {}}, []string{"a", ""}, []Symbol{"a"}, []string{},
	}
}

func TestValueRoundTrip(t *testing.T) {
	t.Parallel()
	for _, v := range values() {
		b, err := appendValue(nil, v)
		if err != nil {
			t.Errorf("encode %T %v: %v", v, v, err)
			continue
		}
		d := decoder{b: b}
		got := d.value(0)
		if d.err != nil || len(d.b) > 0 {
			t.Errorf("decode %T %v: %v, %d bytes left", v, v, d.err, len(d.b))
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Errorf("%T: %s", v, diff)
		}
	}
}

func TestValueEncodings(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		b    []byte
		want any
	}{
		{"boolean byte", []byte{codeBool, 1}, true},
		{"array of booleans", []byte{codeArray8, 4, 2, codeBool, 1, 0}, []bool{true, false}},
		{"array of small longs", []byte{codeArray8, 4, 2, codeSmallLong, 0xff, 2}, []int64{-1, 2}},
		{"array of nulls", []byte{codeArray8, 2, 3, codeNull}, []any{nil, nil, nil}},
		{"array of described", []byte{codeArray8, 6, 2, codeDescribed, codeUlong0, codeUbyte, 1, 2}, []any{
			Described{Descriptor: uint64(0), Value: uint8(1)}, Described{Descriptor: uint64(0), Value: uint8(2)}}},
		{"array of ubytes", []byte{codeArray8, 4, 2, codeUbyte, 1, 2}, []any{uint8(1), uint8(2)}},
		{"string and symbol of one name", []byte{codeMap8, 9, 4, codeString8, 1, 'a', codeNull, codeSymbol8, 1, 'a', codeNull},
			map[any]any{"a": nil, Symbol("a"): nil}},
	}
	for _, c := range cases {
		d := decoder{b: c.b}
		got := d.value(0)
		if d.err != nil || len(d.b) > 0 {
			t.Errorf("%s: %v, %d bytes left", c.name, d.err, len(d.b))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestValueRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		b    []byte
	}{
		{"nothing", nil},
		{"unknown constructor", []byte{0x99}},
		{"boolean of value 2", []byte{codeBool, 2}},
		{"short uint", []byte{codeUint, 1, 2}},
		{"string beyond the end", []byte{codeString8, 5, 'a'}},
		{"string that is not UTF-8", []byte{codeString8, 1, 0xff}},
		{"binary of 4 GiB", []byte{codeBinary32, 0xff, 0xff, 0xff, 0xff}},
		{"char that is no code point", []byte{codeChar, 0, 0x11, 0, 0}},
		{"surrogate char", []byte{codeChar, 0, 0, 0xd8, 0}},
		{"list of more values than bytes", []byte{codeList8, 2, 9, codeNull}},
		{"list that ends in a value", []byte{codeList8, 2, 1, codeUint}},
		{"map of three values", []byte{codeMap8, 4, 3, codeNull, codeNull, codeNull}},
		{"map key of a list", []byte{codeMap8, 3, 2, codeList0, codeNull}},
		{"map key twice", []byte{codeMap8, 5, 4, codeTrue, codeNull, codeTrue, codeNull}},
		{"array of 4 billion nulls", []byte{codeArray32, 0, 0, 0, 5, 0x7f, 0xff, 0xff, 0xff, codeNull}},
		{"descriptor of a string", []byte{codeDescribed, codeString8, 0, codeNull}},
		{"nested too deep", bytes.Repeat([]byte{codeDescribed, codeUlong0}, 100)},
	}
	for _, c := range cases {
		d := decoder{b: c.b}
		if v := d.value(0); d.err == nil {
			t.Errorf("%s: decoded as %v", c.name, v)
		}
	}
	for _, v := range []any{struct{}{}, Decimal("12"), map[any]any{1.5: struct{}{}}, []any{struct{}{}}, map[string]any{"a": make(chan int)}} {
		if b, err := appendValue(nil, v); err == nil {
			t.Errorf("%v encoded as %x", v, b)
		}
	}
}

// FuzzValue holds that decoding never panics, and that what was decoded has one
// encoding, which decodes to the same.
func FuzzValue(f *testing.F) {
	for _, v := range values() {
		b, err := appendValue(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := decoder{b: b}
		v := d.value(0)
		if d.err != nil {
			return
		}
		first, err := appendValue(nil, v)
		if err != nil {
			t.Fatalf("encode %#v: %v", v, err)
		}
		again := decoder{b: first}
		w := again.value(0)
		if again.err != nil || len(again.b) > 0 {
			t.Fatalf("decode %x: %v", first, again.err)
		}
		second, err := appendValue(nil, w)
		if err != nil {
			t.Fatalf("encode %#v: %v", w, err)
		}
		if !bytes.Equal(first, second) {
			t.Fatalf("%#v became %#v", v, w)
		}
	})
}
