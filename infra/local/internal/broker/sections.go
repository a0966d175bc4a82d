package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
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
}

// nextSection takes the first section from b, without decoding its value.
func nextSection(b []byte) (s section, rest []byte, err error) {
	// A described type: 0x00, then the descriptor as smallulong or ulong.
	switch {
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
	size, err := valueSize(s.value)
	if err != nil {
		return s, nil, err
	}
	end := len(b) - len(s.value) + size
	s.raw, s.value = b[:end], s.value[:size]
	return s, b[end:], nil
}

// valueSize is how many bytes the value at the start of b takes, its constructor
// included (OASIS AMQP 1.0 part 1, section 1.2): the upper half of a format
// code tells the width.
func valueSize(b []byte) (int, error) {
	prefix := 0
	// A described value: its descriptor is itself a value.
	for len(b) > prefix && b[prefix] == 0 {
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

// An envelope is an encoded message taken apart: the sections that the service
// reads or changes, and the rest as it came.
type envelope struct {
	header, delivery, message, properties, application []byte // raw, nil when absent
	body                                               []byte // the body sections and the footer, raw
}

func openEnvelope(payload []byte) (e envelope, err error) {
	for b := payload; len(b) > 0; {
		s, rest, err := nextSection(b)
		if err != nil {
			return e, err
		}
		switch s.code {
		case secHeader:
			e.header = s.raw
		case secDeliveryAnnotations:
			e.delivery = s.raw
		case secMessageAnnotations:
			e.message = s.raw
		case secProperties:
			e.properties = s.raw
		case secApplication:
			e.application = s.raw
		default:
			e.body = b
			return e, checkSections(rest)
		}
		b = rest
	}
	return e, nil
}

// checkSections makes sure that all of b is whole sections.
func checkSections(b []byte) error {
	for len(b) > 0 {
		_, rest, err := nextSection(b)
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// bytes puts the parts together again.
func (e envelope) bytes() []byte {
	size := len(e.header) + len(e.delivery) + len(e.message) + len(e.properties) + len(e.application) + len(e.body)
	b := make([]byte, 0, size)
	for _, part := range [][]byte{e.header, e.delivery, e.message, e.properties, e.application, e.body} {
		b = append(b, part...)
	}
	return b
}
