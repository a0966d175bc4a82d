package notify

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed webhook.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp" // whole seconds of Unix time
	HeaderSignature = "Webhook-Signature" // "v1a,<base64>", one or several with spaces between
)

// The prefixes of keys as people see them, and of asymmetric signatures.
const (
	secretPrefix    = "whsk_"
	publicPrefix    = "whpk_"
	signaturePrefix = "v1a,"
)

// ErrSigningKey is returned for a text that is no signing key. It never shows the text.
var ErrSigningKey = errors.New("is not a signing key: whsk_ and the 32 bytes of an Ed25519 seed in base64")

// SigningKey is a signing key. No formatting shows its secret. The zero value can't
// sign. It is safe for concurrent use.
type SigningKey struct {
	sign   func(content []byte) []byte // holds the secret, where nothing prints it
	public string
}

// ParseSigningKey reads a key as the specification writes it: whsk_ and the base64
// form of the 32 bytes from which the key pair is made. Space around it is
// ignored, since a secret store may keep a line's end.
func ParseSigningKey(text string) (SigningKey, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), secretPrefix)
	if !ok {
		return SigningKey{}, ErrSigningKey
	}
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(seed) != ed25519.SeedSize {
		return SigningKey{}, ErrSigningKey // the cause would show a part of the text
	}
	private := ed25519.NewKeyFromSeed(seed)
	return SigningKey{
		sign:   func(content []byte) []byte { return ed25519.Sign(private, content) },
		public: publicPrefix + base64.StdEncoding.EncodeToString(private[ed25519.SeedSize:]),
	}, nil
}

// ParseSigningKeys reads those of the keys that are not empty.
func ParseSigningKeys(texts ...string) ([]SigningKey, error) {
	var keys []SigningKey
	for _, text := range texts {
		if text == "" {
			continue
		}
		key, err := ParseSigningKey(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Public returns the public key with which receivers verify, in the form of the
// specification: whpk_ and base64.
func (k SigningKey) Public() string { return k.public }

// Sign sets the headers of a webhook whose body is exactly that: Ed25519 by the
// Standard Webhooks specification, version 1.0.0 (https://www.standardwebhooks.com),
// sections "Signature scheme" and "Webhook headers". There is a
// signature by each key: receivers take any that they know, so that a key can be
// replaced without an interruption. The id must have no dot, since dots part
// what is signed: with one, a signature could be moved to another split.
func Sign(header http.Header, id string, at time.Time, body []byte, keys ...SigningKey) error {
	if id == "" || strings.Contains(id, ".") {
		return fmt.Errorf("sign webhook %q: its id is empty or has a dot", id)
	}
	if len(keys) == 0 || slices.ContainsFunc(keys, func(k SigningKey) bool { return k.sign == nil }) {
		return fmt.Errorf("sign webhook %s: no key", id)
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	content := append([]byte(id+"."+timestamp+"."), body...)
	signatures := make([]string, len(keys))
	for i, k := range keys {
		signatures[i] = signaturePrefix + base64.StdEncoding.EncodeToString(k.sign(content))
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return nil
}
