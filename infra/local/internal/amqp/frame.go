package amqp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// Frame types (OASIS part 2, section 2.3.1).
const (
	frameAMQP byte = 0
	frameSASL byte = 1
)

const (
	frameHeaderSize = 8
	// minMaxFrameSize is the least that a peer may offer as max-frame-size
	// (section 2.8.19, MIN-MAX-FRAME-SIZE).
	minMaxFrameSize = 512
)

// emptyFrame keeps a connection from being idle (section 2.4.5).
var emptyFrame = []byte{0, 0, 0, frameHeaderSize, 2, frameAMQP, 0, 0}

// frame is one frame as read; body is valid until the next is read. An empty
// frame has no body.
type frame struct {
	kind    byte
	channel uint16
	body    []byte
}

// frameReader cuts a byte stream into frames.
type frameReader struct {
	r       *bufio.Reader
	max     uint32
	consume int // bytes of the last frame, still in r
}

func newFrameReader(r io.Reader, maxFrameSize uint32) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, int(maxFrameSize)), max: maxFrameSize}
}

// next returns the next frame. It returns io.EOF at the end of the stream
// between two frames, an *Error for a malformed frame.
func (fr *frameReader) next() (frame, error) {
	if err := fr.discard(); err != nil {
		return frame{}, err
	}
	head, err := fr.peek(frameHeaderSize)
	if err != nil {
		return frame{}, err
	}
	size, offset := binary.BigEndian.Uint32(head), 4*uint32(head[4])
	f := frame{kind: head[5], channel: binary.BigEndian.Uint16(head[6:])}
	switch {
	case size > fr.max:
		return frame{}, Errorf(CondFramingError, "frame of %d bytes, limit %d", size, fr.max)
	case offset < frameHeaderSize || size < offset:
		return frame{}, Errorf(CondFramingError, "frame of %d bytes with its body at %d", size, offset)
	}
	whole, err := fr.peek(int(size))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return frame{}, err
	}
	f.body = whole[offset:]
	fr.consume = int(size)
	return f, nil
}

// header reads one protocol header (section 2.2).
func (fr *frameReader) header() (protocolHeader, error) {
	var h protocolHeader
	if err := fr.discard(); err != nil {
		return h, err
	}
	head, err := fr.peek(len(h))
	copy(h[:], head)
	fr.consume = len(head)
	return h, err
}

// discard drops what was returned last.
func (fr *frameReader) discard() error {
	_, err := fr.r.Discard(fr.consume)
	fr.consume = 0
	return err
}

// peek returns the next n bytes, io.EOF when the stream ends before the first.
func (fr *frameReader) peek(n int) ([]byte, error) {
	b, err := fr.r.Peek(n)
	if len(b) < n && len(b) > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// appendFrame appends a frame of one performative to b. On an error b is
// returned as it was.
func appendFrame(b []byte, kind byte, channel uint16, p performative) ([]byte, error) {
	at := len(b)
	frame, err := p.append(appendFrameHeader(b, kind, channel))
	if err != nil {
		return b[:at], err
	}
	setFrameSize(frame, at)
	return frame, nil
}

func appendFrameHeader(b []byte, kind byte, channel uint16) []byte {
	return append(b, 0, 0, 0, 0, 2, kind, byte(channel>>8), byte(channel))
}

// setFrameSize completes the frame that starts at and ends with b.
func setFrameSize(b []byte, at int) {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
}
