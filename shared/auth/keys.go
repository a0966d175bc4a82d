package auth

import (
	"cmp"
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// KeysConfig says whose keys, and how they are kept. Zero times take their
// defaults.
type KeysConfig struct {
	// Issuer is the URL below which the OpenID configuration is: https, or http
	// to this machine.
	Issuer string
	// MaxAge is how old the keys may be before they are read again: an hour.
	// Keys that can't be read again are kept, so that an outage of the issuer
	// locks nobody out whose key is known.
	MaxAge time.Duration
	// Pause is how long the issuer is left alone after an answer, however many
	// tokens name keys that nobody knows: a minute.
	Pause time.Duration
	// Retry is the same after a failure: 5 s.
	Retry time.Duration
	// Timeout bounds one reading, with both of its requests: 5 s.
	Timeout time.Duration
	Now     func() time.Time // safe for concurrent use
	Logger  *slog.Logger
}

// Keys are the public keys with which an issuer signs. They are read when they
// are first asked for, again when they are old, and when a token names one that
// is not known, since issuers change them without notice (Microsoft Learn,
// "Signing key rollover in the Microsoft identity platform").
//
// They are safe for concurrent use. Close must be called.
type Keys struct {
	c      KeysConfig
	client *http.Client
	keys   *fetcher[map[string]*rsa.PublicKey] // by id
}

// NewKeys returns keys of which none is known yet. The error says what is wrong
// with the issuer's URL.
func NewKeys(c KeysConfig) (*Keys, error) {
	if err := safe(c.Issuer); err != nil {
		return nil, fmt.Errorf("issuer of tokens: %w", err)
	}
	c.MaxAge = cmp.Or(c.MaxAge, time.Hour)
	c.Pause = cmp.Or(c.Pause, time.Minute)
	c.Retry = cmp.Or(c.Retry, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	k := &Keys{c: c, client: NewClient(c.Timeout, 1)}
	k.keys = newFetcher(c.Timeout, c.Now, k.fetch)
	return k, nil
}

// Preload begins to read the keys, so that the first token need not wait. It
// does not wait itself.
func (k *Keys) Preload() { k.keys.refresh(k.c.Pause, k.c.Retry) }

// Close ends a reading under way and waits for it.
func (k *Keys) Close() {
	k.keys.close()
	k.client.CloseIdleConnections()
}

var _ KeySource = (*Keys)(nil)

// errNoSuchKey is the error for a key that the issuer doesn't have.
var errNoSuchKey = errors.New("the issuer has no such key")

// Key returns the key with that id, a *rsa.PublicKey. It waits for the issuer
// only for a key that is not known, up to Timeout.
func (k *Keys) Key(ctx context.Context, id string) (any, error) {
	known, at := k.keys.get()
	if key := known[id]; key != nil {
		if k.c.Now().Sub(at) >= k.c.MaxAge {
			k.Preload() // for those who come later
		}
		return key, nil
	}
	err := k.keys.refresh(k.c.Pause, k.c.Retry).wait(ctx)
	known, _ = k.keys.get()
	if key := known[id]; key != nil {
		return key, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKeys, err)
	}
	return nil, errNoSuchKey
}

// fetch reads the keys, and logs what has become of it.
func (k *Keys) fetch(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	keys, err := k.discover(ctx)
	if err != nil {
		k.c.Logger.Warn("keys of the issuer can't be read", "issuer", k.c.Issuer, "error", err)
		return nil, err
	}
	k.c.Logger.Info("keys of the issuer read", "issuer", k.c.Issuer, "keys", len(keys))
	return keys, nil
}
