package auth

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

const (
	// keysAge is how old the keys may be before they are read again. Keys that can't be
	// read again are kept, so that an outage of the issuer locks nobody out whose key is
	// known.
	keysAge = time.Hour
	// keysPause is how long the issuer is left alone after an answer, however many
	// tokens name keys that nobody knows; keysRetry is the same after a failure.
	keysPause, keysRetry = time.Minute, 5 * time.Second
	// keysTimeout bounds one reading, with both of its requests.
	keysTimeout = 5 * time.Second
)

// Keys are the public keys with which an issuer signs. They are read when they
// are first asked for, again when they are old, and when a token names one that
// is not known, since issuers change them without notice (Microsoft Learn,
// "Signing key rollover in the Microsoft identity platform").
//
// They are safe for concurrent use. Close must be called.
type Keys struct {
	issuer string
	now    func() time.Time
	logger *slog.Logger
	client *http.Client
	keys   *fetcher[map[string]*rsa.PublicKey] // by id
}

// NewKeys returns keys of which none is known yet. The issuer is the URL below which
// the OpenID configuration is: https, or http to this machine. The error says what is
// wrong with it. now is safe for concurrent use.
func NewKeys(issuer string, now func() time.Time, logger *slog.Logger) (*Keys, error) {
	if err := safe(issuer); err != nil {
		return nil, fmt.Errorf("issuer of tokens: %w", err)
	}
	k := &Keys{issuer: issuer, now: now, logger: logger, client: NewClient(keysTimeout, 1)}
	k.keys = newFetcher(keysTimeout, now, k.fetch)
	return k, nil
}

// Preload begins to read the keys, so that the first token need not wait. It
// does not wait itself.
func (k *Keys) Preload() { k.keys.refresh(keysPause, keysRetry) }

// Close ends a reading under way and waits for it.
func (k *Keys) Close() {
	k.keys.close()
	k.client.CloseIdleConnections()
}

// errNoSuchKey is the error for a key that the issuer doesn't have.
var errNoSuchKey = errors.New("the issuer has no such key")

// Key returns the key with that id. It waits for the issuer only for a key that is not
// known, a few seconds. ErrNoKeys if nobody can tell, any other error if the issuer has
// no such key.
func (k *Keys) Key(ctx context.Context, id string) (*rsa.PublicKey, error) {
	known, at := k.keys.get()
	if key := known[id]; key != nil {
		if k.now().Sub(at) >= keysAge {
			k.Preload() // for those who come later
		}
		return key, nil
	}
	err := k.keys.refresh(keysPause, keysRetry).wait(ctx)
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
		k.logger.Warn("keys of the issuer can't be read", "issuer", k.issuer, "error", err)
		return nil, err
	}
	k.logger.Info("keys of the issuer read", "issuer", k.issuer, "keys", len(keys))
	return keys, nil
}
