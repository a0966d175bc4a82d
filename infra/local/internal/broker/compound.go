package broker

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
)

// A compound walks over the elements of an encoded list or map: what a sender
// put there is passed on as it came, of whatever type, so that only what the
// service reads is decoded.
type compound struct {
	rest []byte
	left int // elements
	err  error
}

// openCompound takes a list, a map or null, which has no elements.
func openCompound(value []byte) compound {
	if len(value) == 0 {
		return compound{err: errCutShort}
	}
	head := 0
	c := compound{}
	switch value[0] {
	case 0x40, 0x45: // null, the empty list
		return c
	case 0xc0, 0xc1:
		head = 3
	case 0xd0, 0xd1:
		head = 9
	default:
		return compound{err: fmt.Errorf("format code %#x where a list or a map belongs", value[0])}
	}
	if len(value) < head {
		return compound{err: errCutShort}
	}
	if head == 3 {
		c.left = int(value[2])
	} else {
		c.left = int(binary.BigEndian.Uint32(value[5:]))
	}
	c.rest = value[head:]
	return c
}

// next gives the next element, nil behind the last one and after an error.
func (c *compound) next() []byte {
	if c.left == 0 || c.err != nil {
		return nil
	}
	n, err := amqp.ValueSize(c.rest)
	if err != nil {
		c.err = err
		return nil
	}
	element := c.rest[:n:n]
	c.rest = c.rest[n:]
	c.left--
	return element
}

// lookup gives the encoded value of a key, nil when it is absent or null.
func lookup(value []byte, name string) []byte {
	for c := openCompound(value); ; {
		key, v := c.next(), c.next()
		if v == nil {
			return nil
		}
		if keyName(key) == name && v[0] != 0x40 {
			return v
		}
	}
}

// keyName gives a key that is a string or a symbol, "" for any other.
func keyName(key []byte) string {
	switch key[0] {
	case 0xa1, 0xa3:
		return string(key[2:])
	case 0xb1, 0xb3:
		return string(key[5:])
	default:
		return ""
	}
}

// beginSection appends the head of a section that is a list or a map, whose size
// endSection fills in.
func beginSection(b []byte, code, format byte) []byte {
	return append(b, 0, 0x53, code, format, 0, 0, 0, 0, 0, 0, 0, 0)
}

// endSection completes the section that starts at.
func endSection(b []byte, at, count int) []byte {
	binary.BigEndian.PutUint32(b[at+4:], uint32(len(b)-at-8))
	binary.BigEndian.PutUint32(b[at+8:], uint32(count))
	return b
}

// A pair is a key and a value that the service adds to a map.
type pair struct {
	key   string
	value any
}

// editMap appends the section with the map of a sent one, less the keys that drop
// names and with those that are added. Without any of them it appends nothing.
func editMap(b []byte, code byte, sent []byte, drop func(name string, value []byte) bool, added []pair) ([]byte, error) {
	at, count := len(b), 0
	b = beginSection(b, code, 0xd1)
	if sent != nil {
		c := openCompound(sent)
		for key, v := c.next(), c.next(); v != nil; key, v = c.next(), c.next() {
			if !drop(keyName(key), v) {
				b = append(append(b, key...), v...)
				count += 2
			}
		}
		if c.err != nil {
			return b[:at], c.err
		}
	}
	for _, p := range added {
		var err error
		if code == secApplication {
			b, err = amqp.AppendValue(b, p.key)
		} else {
			b, err = amqp.AppendValue(b, amqp.Symbol(p.key))
		}
		if err == nil {
			b, err = amqp.AppendValue(b, p.value)
		}
		if err != nil {
			return b[:at], fmt.Errorf("%s: %w", p.key, err)
		}
		count += 2
	}
	if count == 0 {
		return b[:at], nil
	}
	return endSection(b, at, count), nil
}

// A header is a message's header (OASIS part 3, section 3.2.1): its first four
// fields as they came, nil when absent.
type header [4][]byte

func readHeader(value []byte) (h header, err error) {
	if value == nil {
		return h, nil
	}
	c := openCompound(value)
	for i := range h {
		if v := c.next(); v != nil && v[0] != 0x40 {
			h[i] = v
		}
	}
	return h, c.err
}

// ttl is the header's time to live, 0 for none.
func (h header) ttl() (time.Duration, error) {
	if h[2] == nil {
		return 0, nil
	}
	v, err := amqp.DecodeValue(h[2])
	ms, ok := v.(uint32)
	if err == nil && !ok {
		err = fmt.Errorf("the ttl is no uint but %T", v)
	}
	return time.Duration(ms) * time.Millisecond, err
}

// append appends the header with another time to live, 0 for none, and the
// count of deliveries, which is there even when it is 0: the SDK for JavaScript
// has no default for it.
func (h header) append(b []byte, ttl time.Duration, deliveries uint32) []byte {
	at := len(b)
	b = beginSection(b, secHeader, 0xd0)
	for i, v := range h {
		switch {
		case i == 2 && ttl > 0:
			b = append(b, 0x70)
			b = binary.BigEndian.AppendUint32(b, uint32(ttl/time.Millisecond))
		case i == 2 || v == nil:
			b = append(b, 0x40)
		default:
			b = append(b, v...)
		}
	}
	b = append(b, 0x70)
	b = binary.BigEndian.AppendUint32(b, deliveries)
	return endSection(b, at, len(h)+1)
}
