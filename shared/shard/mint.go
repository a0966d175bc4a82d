package shard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// IDKind is what an id names.
type IDKind string

// The kinds. Each begins the ids of it, with the version of the form.
const (
	TransactionIDs IDKind = "t1-"
	OperationIDs   IDKind = "o1-"
)

// The form of an id: its kind, and these bytes in base32hex, small letters,
// whose order is that of the bytes. Ids sort by time within a kind.
const (
	timeAt   = 0  // 6 bytes: milliseconds since 1970
	placeAt  = 6  // 2 bytes: the shard of what it names
	keyAt    = 8  // 1 byte: the number of the key
	randomAt = 9  // 9 bytes
	macAt    = 18 // 12 bytes: of kind, of whom it was minted for, and of all before
	idSize   = 30
)

var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Minter makes ids with one key, and knows those made with any of its keys. It is
// safe for concurrent use.
type Minter struct {
	keys   []IDKey
	now    func() time.Time
	random io.Reader
}

// NewMinter returns a Minter. The first key makes ids; there must be one. Ids have the
// time of now, and what can't be foretold of them is read from random.
func NewMinter(keys []IDKey, now func() time.Time, random io.Reader) *Minter {
	return &Minter{keys: keys, now: now, random: random}
}

// New makes an id of what is in a shard for someone: the caller of a transaction, or
// whatever else is to be known to find out that the id was minted. The error is that
// of the random source.
func (m *Minter) New(kind IDKind, whom string, in Number) (string, error) {
	var id [idSize]byte
	binary.BigEndian.PutUint64(id[timeAt:], uint64(m.now().UnixMilli())<<16)
	binary.BigEndian.PutUint16(id[placeAt:], uint16(in))
	key := m.keys[0]
	id[keyAt] = key.Number
	if _, err := io.ReadFull(m.random, id[randomAt:macAt]); err != nil {
		return "", fmt.Errorf("mint id: %w", err)
	}
	copy(id[macAt:], key.mac(kind, whom, id[:macAt]))
	return string(kind) + idEncoding.EncodeToString(id[:]), nil
}

// At returns when an id of this kind was minted for someone, to the millisecond;
// false for an id that wasn't, or whose key is no longer known.
func (m *Minter) At(kind IDKind, whom, id string) (time.Time, bool) {
	raw, ok := parseID(kind, id)
	if !ok {
		return time.Time{}, false
	}
	for _, key := range m.keys {
		if key.Number == raw[keyAt] && hmac.Equal(raw[macAt:], key.mac(kind, whom, raw[:macAt])) {
			return time.UnixMilli(int64(binary.BigEndian.Uint64(raw[timeAt:]) >> 16)).UTC(), true
		}
	}
	return time.Time{}, false
}

// Claimed returns the shard that an id says it is in, whether it was ever minted or
// not; false for an id that has not the form of a transaction's.
func Claimed(id string) (Number, bool) {
	raw, ok := parseID(TransactionIDs, id)
	if !ok {
		return 0, false
	}
	return Number(binary.BigEndian.Uint16(raw[placeAt:])), true
}

// Formed reports whether an id has the form of a minted one. Clients may choose
// no such id, whether it was ever minted or not.
func Formed(id string) bool {
	for _, kind := range []IDKind{TransactionIDs, OperationIDs} {
		if _, ok := parseID(kind, id); ok {
			return true
		}
	}
	return false
}

// parseID returns the bytes of an id that has the form of its kind. There is one
// spelling of them: no bits are left over.
func parseID(kind IDKind, id string) ([]byte, bool) {
	text, ok := strings.CutPrefix(id, string(kind))
	if !ok || len(text) != idEncoding.EncodedLen(idSize) {
		return nil, false
	}
	raw, err := idEncoding.DecodeString(text)
	return raw, err == nil && len(raw) == idSize // it would skip line breaks
}

// mac is the code of an id. The parts can't run into each other: all but whom
// have a fixed length.
func (k IDKey) mac(kind IDKind, whom string, rest []byte) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(kind)) // a hash takes everything
	mac.Write(rest)
	mac.Write([]byte(whom))
	return mac.Sum(nil)[:idSize-macAt]
}
