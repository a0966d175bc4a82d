package shard

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

// IDKey is a secret that ids are minted with, and its number, which is in each of
// them.
type IDKey struct {
	Number byte
	secret []byte
}

// NewIDKey makes a key with a number. The error is that of the random source.
func NewIDKey(number byte, random io.Reader) (IDKey, error) {
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return IDKey{}, fmt.Errorf("make key: %w", err)
	}
	return IDKey{number, secret}, nil
}

// Reveal writes the key as ParseIDKeys reads it.
func (k IDKey) Reveal() string {
	return strconv.Itoa(int(k.Number)) + "." + base64.StdEncoding.EncodeToString(k.secret)
}

// String hides the secret.
func (k IDKey) String() string { return fmt.Sprintf("key %d", k.Number) }

// GoString hides the secret from %#v.
func (k IDKey) GoString() string { return k.String() }

// ErrIDKeys is what keys that can't be read are refused with; it shows nothing of
// them.
var ErrIDKeys = errors.New("must be keys separated by commas, each a different number from 0 to 255, a dot, and 32 bytes in base64")

// ParseIDKeys reads keys with commas between them, the one that mints first. It
// returns none for no text, and ErrIDKeys.
func ParseIDKeys(text string) ([]IDKey, error) {
	if text == "" {
		return nil, nil
	}
	var keys []IDKey
	for part := range strings.SplitSeq(text, ",") {
		number, secret, _ := strings.Cut(strings.TrimSpace(part), ".")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			return nil, ErrIDKeys
		}
		k := IDKey{Number: byte(n)}
		k.secret, err = base64.StdEncoding.DecodeString(secret)
		if err != nil || len(k.secret) != secretBytes || slices.ContainsFunc(keys, func(other IDKey) bool { return other.Number == k.Number }) {
			return nil, ErrIDKeys
		}
		keys = append(keys, k)
	}
	return keys, nil
}
