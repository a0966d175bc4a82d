package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A segment is a file of commits, one behind the other:
//
//	mark      4 bytes, by which a commit is found behind damage
//	length    4 bytes, big-endian, of the body
//	checksum  4 bytes, CRC-32C of length and body
//	body      number, base; then the changes: kind, key, and for a put the value
//
// Numbers and lengths in the body are unsigned varints.
var mark = []byte{0xfd, 0xd1, 0x5c, 0x07}

const (
	headBytes = 12
	// maxBodyBytes is above what a group can have: the emulators' largest batch
	// is a few MB.
	maxBodyBytes = 1 << 30
)

// The kinds of a change.
const (
	kindPut    = 1
	kindDelete = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a commit as it is read.
type record struct {
	number uint64
	// base is the first commit that was needed when this one was written: what
	// is kept of those before it is in commits from there on.
	base   uint64
	length int    // in the segment
	rest   []byte // the changes
	offset int    // of rest in the record
}

// encoder writes one commit. The zero value is ready to use.
type encoder struct {
	buffer []byte
}

// begin begins a commit.
func (e *encoder) begin(number, base uint64) {
	e.buffer = append(e.buffer[:0], mark...)
	e.buffer = append(e.buffer, make([]byte, headBytes-len(mark))...)
	e.buffer = binary.AppendUvarint(e.buffer, number)
	e.buffer = binary.AppendUvarint(e.buffer, base)
}

// put adds an entry, and returns where in the commit its value is.
func (e *encoder) put(key string, value []byte) (offset int) {
	e.buffer = append(e.buffer, kindPut)
	e.key(key)
	e.buffer = binary.AppendUvarint(e.buffer, uint64(len(value)))
	e.buffer = append(e.buffer, value...)
	return len(e.buffer) - len(value)
}

// remove adds the end of an entry.
func (e *encoder) remove(key string) {
	e.buffer = append(e.buffer, kindDelete)
	e.key(key)
}

func (e *encoder) key(key string) {
	e.buffer = binary.AppendUvarint(e.buffer, uint64(len(key)))
	e.buffer = append(e.buffer, key...)
}

// end returns the commit, which is valid until the next begin.
func (e *encoder) end() ([]byte, error) {
	body := len(e.buffer) - headBytes
	if body > maxBodyBytes {
		return nil, errors.New("a commit of more than 1 GiB")
	}
	binary.BigEndian.PutUint32(e.buffer[4:], uint32(body))
	binary.BigEndian.PutUint32(e.buffer[8:], checksum(e.buffer))
	return e.buffer, nil
}

// recordBytes is the length of the commit that begins with head.
func recordBytes(head []byte) int64 { return headBytes + int64(binary.BigEndian.Uint32(head[4:])) }

func checksum(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[4:8], castagnoli), castagnoli, record[headBytes:])
}

// parseRecord reads the commit at the beginning of b; ok is false if there is no
// whole one. What it returns points into b.
func parseRecord(b []byte) (r record, ok bool) {
	if len(b) < headBytes || !bytes.HasPrefix(b, mark) {
		return r, false
	}
	length := recordBytes(b)
	if length > int64(len(b)) {
		return r, false
	}
	b = b[:length]
	if binary.BigEndian.Uint32(b[8:]) != checksum(b) {
		return r, false
	}
	rest := b[headBytes:]
	number, n := binary.Uvarint(rest)
	base, m := binary.Uvarint(rest[max(n, 0):])
	if n <= 0 || m <= 0 {
		return r, false
	}
	return record{number: number, base: base, length: len(b), rest: rest[n+m:], offset: headBytes + n + m}, true
}

// errChange: a commit whose checksum is right has changes that can't be read.
var errChange = errors.New("a change that can't be read")

// each calls f with the changes in their order, and with where in the commit the
// value of a put is.
func (r record) each(f func(c change, offset int)) error {
	rest, at := r.rest, r.offset
	next := func() ([]byte, bool) {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return nil, false
		}
		field := rest[n : n+int(length)]
		rest, at = rest[n+int(length):], at+n+int(length)
		return field, true
	}
	for len(rest) > 0 {
		kind := rest[0]
		rest, at = rest[1:], at+1
		key, ok := next()
		if !ok || kind != kindPut && kind != kindDelete {
			return errChange
		}
		c := change{key: string(key), remove: kind == kindDelete}
		if !c.remove {
			if c.value, ok = next(); !ok {
				return errChange
			}
		}
		f(c, at-len(c.value))
	}
	return nil
}

// findRecord looks for a whole commit anywhere in b.
func findRecord(b []byte) (r record, ok bool) {
	for {
		at := bytes.Index(b, mark)
		if at < 0 {
			return r, false
		}
		if r, ok := parseRecord(b[at:]); ok {
			return r, true
		}
		b = b[at+1:]
	}
}
