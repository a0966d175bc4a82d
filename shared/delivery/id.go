package delivery

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
)

// keys is the namespace of the ids that are made of a caller and a key. It must
// never change: a repeated request has to get the id that it got before.
var keys = uuid.MustParse("6f0a1c52-3d7e-5b19-9a46-c1d2e8b7f043")

// NewID returns a new id, a UUIDv7. The error is the system's random source.
func NewID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("mint id: %w", err)
	}
	return id.String(), nil
}

// KeyID returns the id that stands for a caller's idempotency key, a UUIDv5.
// The two parts can't run into each other.
func KeyID(caller, key string) string {
	return uuid.NewSHA1(keys, fmt.Appendf(nil, "%d:%s%s", len(caller), caller, key)).String()
}

// ValidID reports whether a client may use id for a transaction, an owner or a
// package: 1 to 64 of A-Z a-z 0-9 . _ - and not just dots.
func ValidID(id string) bool { return value.ValidID(id) }

// MintedAt returns when id was minted, to the millisecond, if it has the form
// of one that NewID returns.
func MintedAt(id string) (time.Time, bool) {
	parsed, err := uuid.Parse(id)
	if err != nil || parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 || parsed.String() != id {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range parsed[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}
