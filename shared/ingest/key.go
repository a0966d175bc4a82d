package ingest

import (
	"fmt"

	"github.com/google/uuid"
)

// keys is the namespace of what is made of a caller and a key. It must never
// change: a repeated request has to find what was kept of the first.
var keys = uuid.MustParse("6f0a1c52-3d7e-5b19-9a46-c1d2e8b7f043")

// keyID returns what stands for a caller's idempotency key, a UUIDv5: see
// KeyPrefix. Anyone can compute it. The two parts can't run into each other.
func keyID(caller, key string) string {
	return uuid.NewSHA1(keys, fmt.Appendf(nil, "%d:%s%s", len(caller), caller, key)).String()
}
