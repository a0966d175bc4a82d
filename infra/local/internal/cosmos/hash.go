package cosmos

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A hash is an effective partition key: the place of a partition key value in
// the space that ranges divide, and the text that clients compare with their
// bounds.
type hash struct{ high, low uint64 }

// String is the form of the bounds of ranges: 32 hexadecimal digits.
func (h hash) String() string { return fmt.Sprintf("%016X%016X", h.high, h.low) }

// hashPartitionKey places an encoded partition key value by version 2 of the
// service's hash, of which the top two bits are cleared because "FF" is above all
// hashes. A container of version 1, which is one without a version, has one
// range: SDKs differ in how they hash by version 1, and one range is right for
// all of them.
func hashPartitionKey(encoded string) hash {
	low, high := murmur128([]byte(encoded))
	return hash{high: high &^ (3 << 62), low: low}
}

// bound is the first hash of the i-th of n equal ranges.
func bound(i, n int) hash { return hash{high: uint64(i) * (1 << 62 / uint64(n))} }

func (h hash) below(other hash) bool {
	return h.high < other.high || h.high == other.high && h.low < other.low
}

// murmur128 is MurmurHash3_x64_128 with seed 0.
func murmur128(data []byte) (h1, h2 uint64) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	scramble1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	scramble2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	n := uint64(len(data))
	for ; len(data) >= 16; data = data[16:] {
		h1 = (bits.RotateLeft64(h1^scramble1(binary.LittleEndian.Uint64(data)), 27)+h2)*5 + 0x52dce729
		h2 = (bits.RotateLeft64(h2^scramble2(binary.LittleEndian.Uint64(data[8:])), 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h1 ^= scramble1(binary.LittleEndian.Uint64(tail[:])) ^ n
	h2 ^= scramble2(binary.LittleEndian.Uint64(tail[8:])) ^ n
	h1 += h2
	h2 += h1
	h1, h2 = mix(h1), mix(h2)
	h1 += h2
	return h1, h2 + h1
}

func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
