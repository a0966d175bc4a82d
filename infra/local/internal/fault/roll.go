package fault

// scale is what rolls are below: a share of it is exact as a float64.
const scale = 1 << 53

// FNV-1a, 64 bits.
const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// golden is the step of SplitMix64: 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// roll returns a number below scale that depends on its arguments alone. The
// seed, the point and the key choose a stream of numbers, of which n is one.
func roll(seed uint64, p Point, key string, n uint64) uint64 {
	h := finish(seed ^ fnvBasis)
	for i := range len(p) {
		h = (h ^ uint64(p[i])) * fnvPrime
	}
	h *= fnvPrime // a zero byte: no point and key look like another two
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * fnvPrime
	}
	return finish(finish(h)+n*golden) >> 11
}

// finish makes every bit of the result depend on every bit of x, as SplitMix64
// does.
func finish(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
