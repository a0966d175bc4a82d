package mint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// secretBytes is the length of a key's secret.
const secretBytes = 32

// Key is a secret that ids are minted with, and its number, which is in each of
// them.
type Key struct {
	Number byte
	secret []byte
}

// NewKey makes a key with a number. The error is that of the random source.
func NewKey(number byte, random io.Reader) (Key, error) {
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	return Key{number, secret}, nil
}

// Reveal writes the key as ParseKeys reads it.
func (k Key) Reveal() string {
	return strconv.Itoa(int(k.Number)) + "." + base64.StdEncoding.EncodeToString(k.secret)
}

// String hides the secret.
func (k Key) String() string { return fmt.Sprintf("key %d", k.Number) }

// GoString hides the secret from %#v.
func (k Key) GoString() string { return k.String() }

// ErrKeys is what keys that can't be read are refused with; it shows nothing of
// them.
var ErrKeys = errors.New("must be keys separated by commas, each a different number from 0 to 255, a dot, and 32 bytes in base64")

// ParseKeys reads keys with commas between them, the one that mints first. It
// returns none for no text, and ErrKeys.
func ParseKeys(text string) ([]Key, error) {
	if text == "" {
		return nil, nil
	}
	var keys []Key
	for part := range strings.SplitSeq(text, ",") {
		number, secret, _ := strings.Cut(strings.TrimSpace(part), ".")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			return nil, ErrKeys
		}
		k := Key{Number: byte(n)}
		k.secret, err = base64.StdEncoding.DecodeString(secret)
		if err != nil || len(k.secret) != secretBytes || slices.ContainsFunc(keys, func(other Key) bool { return other.Number == k.Number }) {
			return nil, ErrKeys
		}
		keys = append(keys, k)
	}
	return keys, nil
}
