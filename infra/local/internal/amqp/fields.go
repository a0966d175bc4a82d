package amqp

import "time"

// fields walks the fields of a composite type: a list whose trailing fields may
// be missing and whose fields may be null (OASIS part 1, section 1.4).
type fields struct {
	decoder
	left int
}

// list reads a list's header and returns a cursor on its fields.
func (d *decoder) list() fields {
	switch code := d.byte(); code {
	case codeList0:
		return fields{}
	case codeList8, codeList32:
		body, n := d.compound(code == codeList32)
		return fields{decoder: body, left: n}
	default:
		d.wrong("list", code)
		return fields{decoder: decoder{err: d.err}}
	}
}

// present steps to the next field and tells whether it has a value to read.
func (f *fields) present() bool {
	if f.left == 0 || f.err != nil {
		return false
	}
	f.left--
	if len(f.b) > 0 && f.b[0] == codeNull {
		f.b = f.b[1:]
		return false
	}
	return true
}

// need is present for a mandatory field.
func (f *fields) need(name string) bool {
	if f.present() {
		return true
	}
	f.fail("mandatory field %s is missing", name)
	return false
}

func (f *fields) boolOr(v bool) bool {
	if f.present() {
		return f.bool()
	}
	return v
}

func (f *fields) ubyteOr(v byte) byte {
	if f.present() {
		return f.ubyte()
	}
	return v
}

func (f *fields) ushortOr(v uint16) uint16 {
	if f.present() {
		return f.ushort()
	}
	return v
}

func (f *fields) uintOr(v uint32) uint32 {
	if f.present() {
		return f.uint()
	}
	return v
}

func (f *fields) ulongOr(v uint64) uint64 {
	if f.present() {
		return f.ulong()
	}
	return v
}

// optUint reads a field whose absence has a meaning.
func (f *fields) optUint() optional {
	if f.present() {
		return some(f.uint())
	}
	return optional{}
}

func (f *fields) stringOr(v string) string {
	if f.present() {
		return f.string()
	}
	return v
}

// binaryOr returns a slice of the input, v when the field is absent.
func (f *fields) binaryOr(v []byte) []byte {
	if f.present() {
		return f.binary()
	}
	return v
}

func (f *fields) milliseconds() time.Duration {
	return time.Duration(f.uintOr(0)) * time.Millisecond
}

// properties reads a map with symbolic (or string) keys.
func (f *fields) properties() map[string]any {
	if !f.present() {
		return nil
	}
	m, ok := f.value(0).(map[string]any)
	if !ok {
		f.fail("a map with symbolic keys belongs here")
	}
	return m
}

// symbols reads a field of type symbol with multiple=true: absent, one symbol,
// or an array of them.
func (f *fields) symbols() []string {
	if !f.present() {
		return nil
	}
	switch v := f.value(0).(type) {
	case Symbol:
		return []string{string(v)}
	case []Symbol:
		list := make([]string, len(v))
		for i, s := range v {
			list[i] = string(s)
		}
		return list
	default:
		f.fail("symbols belong here, not %T", v)
		return nil
	}
}

// skip passes over the next field, whatever it holds: a map of unsettled
// deliveries has binary keys.
func (f *fields) skip() {
	if !f.present() {
		return
	}
	n, err := ValueSize(f.b)
	if err != nil {
		f.fail("%w", err)
	}
	_ = f.take(n)
}

// optional is a uint field that may be absent.
type optional struct {
	value uint32
	ok    bool
}

func some(v uint32) optional { return optional{value: v, ok: true} }

func (o optional) or(v uint32) uint32 {
	if o.ok {
		return o.value
	}
	return v
}
