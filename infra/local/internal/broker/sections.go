package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
)

// Sections of a message (OASIS AMQP 1.0 part 3, section 3.2) by the code of
// their descriptor.
const (
	secHeader              = 0x70
	secDeliveryAnnotations = 0x71
	secMessageAnnotations  = 0x72
	secProperties          = 0x73
	secApplication         = 0x74
	secData                = 0x75
	secSequence            = 0x76
	secValue               = 0x77
	secFooter              = 0x78
)

var errCutShort = errors.New("the message is cut short")

// A section is one section of an encoded message; raw is all of it, descriptor
// included, value what follows the descriptor.
type section struct {
	code       byte
	raw, value []byte
	symbolic   bool // the descriptor is a symbol
}

// sectionNames are the symbolic descriptors, which a peer may send instead of the
// codes.
var sectionNames = map[amqp.Symbol]byte{
	"amqp:header:list":                secHeader,
	"amqp:delivery-annotations:map":   secDeliveryAnnotations,
	"amqp:message-annotations:map":    secMessageAnnotations,
	"amqp:properties:list":            secProperties,
	"amqp:application-properties:map": secApplication,
	"amqp:data:binary":                secData,
	"amqp:amqp-sequence:list":         secSequence,
	"amqp:amqp-value:*":               secValue,
	"amqp:footer:map":                 secFooter,
}

// withCodes gives a message whose sections have codes for descriptors, since most
// clients read nothing else. What can't be read is left as it is.
func withCodes(payload []byte) []byte {
	out, symbolic := []byte(nil), false
	for b := payload; len(b) > 0; {
		s, rest, err := nextSection(b)
		if err != nil {
			return payload
		}
		if s.symbolic && !symbolic {
			out, symbolic = append(out, payload[:len(payload)-len(b)]...), true
		}
		if symbolic {
			out = appendSection(out, s.code, s.value)
		}
		b = rest
	}
	if !symbolic {
		return payload
	}
	return out
}

// nextSection takes the first section from b, without decoding its value.
func nextSection(b []byte) (s section, rest []byte, err error) {
	// A described type: 0x00, then the descriptor as smallulong, ulong or symbol.
	switch {
	case len(b) >= 3 && b[0] == 0 && (b[1] == 0xa3 || b[1] == 0xb3):
		size, err := amqp.ValueSize(b[1:])
		if err != nil {
			return s, nil, err
		}
		name, err := amqp.DecodeValue(b[1 : 1+size])
		if err != nil {
			return s, nil, err
		}
		symbol, _ := name.(amqp.Symbol)
		s.code, s.value, s.symbolic = sectionNames[symbol], b[1+size:], true
	case len(b) >= 3 && b[0] == 0 && b[1] == 0x53:
		s.code, s.value = b[2], b[3:]
	case len(b) >= 10 && b[0] == 0 && b[1] == 0x80 && binary.BigEndian.Uint64(b[2:]) <= 0xff:
		s.code, s.value = b[9], b[10:]
	default:
		return s, nil, errors.New("a section does not begin with its descriptor")
	}
	if s.code < secHeader || s.code > secFooter {
		return s, nil, fmt.Errorf("unknown section %#x", s.code)
	}
	size, err := amqp.ValueSize(s.value)
	if err != nil {
		return s, nil, err
	}
	end := len(b) - len(s.value) + size
	s.raw, s.value = b[:end], s.value[:size]
	return s, b[end:], nil
}

// An envelope is an encoded message taken apart: the sections that the service
// reads or changes, and the rest as it came. The first five are values, without
// descriptor, nil when absent or null.
type envelope struct {
	header, delivery, message, properties, application []byte
	body                                               []byte // the body sections and the footer, raw
}

func openEnvelope(payload []byte) (e envelope, err error) {
	for b := payload; len(b) > 0; {
		s, rest, err := nextSection(b)
		if err != nil {
			return e, err
		}
		if s.code >= secData {
			e.body = b
			return e, nil
		}
		if s.value[0] == 0x40 {
			s.value = nil
		}
		switch s.code {
		case secHeader:
			e.header = s.value
		case secDeliveryAnnotations:
			e.delivery = s.value
		case secMessageAnnotations:
			e.message = s.value
		case secProperties:
			e.properties = s.value
		case secApplication:
			e.application = s.value
		}
		b = rest
	}
	return e, nil
}

// check makes sure that all of a message can be decoded and is of the types that
// the standard says, so that every receiver can read what it is delivered.
func (e envelope) check() error {
	for _, s := range []struct {
		name  string
		value []byte
		ok    func(v any) bool
	}{
		{"header", e.header, isHeader},
		{"delivery-annotations", e.delivery, isMap},
		{"message-annotations", e.message, isMap},
		{"properties", e.properties, isProperties},
		{"application-properties", e.application, isNamed},
	} {
		if s.value == nil {
			continue
		}
		v, err := amqp.DecodeValue(s.value)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if !s.ok(v) {
			return fmt.Errorf("%s: %v has not the types that belong there", s.name, v)
		}
	}
	for b := e.body; len(b) > 0; {
		s, rest, err := nextSection(b)
		if err == nil {
			err = s.checkBody()
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// checkBody makes sure that a section of the body, or the footer, can be decoded.
func (s section) checkBody() error {
	switch s.code {
	case secData:
		_, err := binaryValue(s.value)
		return err
	case secSequence, secValue, secFooter:
		v, err := amqp.DecodeValue(s.value)
		if err == nil && (s.code == secSequence && !isList(v) || s.code == secFooter && v != nil && !isMap(v)) {
			err = fmt.Errorf("section %#x: no %T belongs there", s.code, v)
		}
		return err
	default:
		return fmt.Errorf("section %#x stands behind the body", s.code)
	}
}

func isList(v any) bool { _, ok := v.([]any); return ok }

func isNamed(v any) bool { _, ok := v.(map[string]any); return ok }

// isHeader tells whether v has the types of a header's fields (OASIS part 3,
// section 3.2.1).
func isHeader(v any) bool {
	return hasTypes(v, is[bool], is[uint8], is[uint32], is[bool], is[uint32])
}

// isProperties tells whether v has the types of the properties' fields (section
// 3.2.4). Ids and addresses may be of any type.
func isProperties(v any) bool {
	anything := func(any) bool { return true }
	return hasTypes(v, anything, is[[]byte], anything, is[string], anything, anything,
		is[amqp.Symbol], is[amqp.Symbol], is[time.Time], is[time.Time], is[string], is[uint32], is[string])
}

// hasTypes tells whether v is a list whose elements are null or of the types.
func hasTypes(v any, types ...func(any) bool) bool {
	list, ok := v.([]any)
	if !ok || len(list) > len(types) {
		return false
	}
	for i, field := range list {
		if field != nil && !types[i](field) {
			return false
		}
	}
	return true
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

func isMap(v any) bool {
	switch v.(type) {
	case map[string]any, map[any]any:
		return true
	default:
		return false
	}
}

// withProperties puts the parts together again, with another section of
// properties.
func (e envelope) withProperties(section []byte) []byte {
	b := make([]byte, 0, len(e.header)+len(e.delivery)+len(e.message)+len(section)+len(e.application)+len(e.body)+12)
	b = appendSection(b, secHeader, e.header)
	b = appendSection(b, secDeliveryAnnotations, e.delivery)
	b = appendSection(b, secMessageAnnotations, e.message)
	b = append(b, section...)
	b = appendSection(b, secApplication, e.application)
	return append(b, e.body...)
}

// appendSection appends a section unless it is absent.
func appendSection(b []byte, code byte, value []byte) []byte {
	if value == nil {
		return b
	}
	return append(append(b, 0, 0x53, code), value...)
}
