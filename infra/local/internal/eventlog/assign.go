package eventlog

import "hash/fnv"

// PartitionOf gives the partition, from 0, of events with a partition key in a
// hub with n partitions. Equal keys give equal partitions, always; the hash is
// not the service's own.
func PartitionOf(key string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(key)) // never fails, says hash.Hash
	// The upper bits of FNV depend on all of a short key, the lower ones less.
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(n))
}
