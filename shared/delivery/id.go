package delivery

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// keys is the namespace of what is made of a caller and a key. It must never
// change: a repeated request has to find what was kept of the first.
var keys = uuid.MustParse("6f0a1c52-3d7e-5b19-9a46-c1d2e8b7f043")

// KeyID returns what stands for a caller's idempotency key, a UUIDv5. Anyone can
// compute it. The two parts can't run into each other.
func KeyID(caller, key string) string {
	return uuid.NewSHA1(keys, fmt.Appendf(nil, "%d:%s%s", len(caller), caller, key)).String()
}

// ValidID reports whether a client may use id for a transaction, an owner or a
// package: 1 to 64 of A-Z a-z 0-9 . _ - and not just dots.
func ValidID(id string) bool { return value.ValidID(id) }
