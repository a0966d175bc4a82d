package auth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
)

// maxDocument bounds what is read of an issuer, in bytes: Entra ID's documents
// have some kilobytes.
const maxDocument = 1 << 20

// minKeyBits is the smallest key that is taken (RFC 7518, section 3.3).
const minKeyBits = 2048

// discover reads the issuer's configuration, and the keys that it names (OpenID
// Connect Discovery 1.0, section 4).
func (k *Keys) discover(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	var configuration struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := k.get(ctx, strings.TrimRight(k.issuer, "/")+"/.well-known/openid-configuration", &configuration); err != nil {
		return nil, err
	}
	if configuration.Issuer != k.issuer { // section 4.3: otherwise it speaks for somebody else
		return nil, fmt.Errorf("the configuration of %s names the issuer %.200q", k.issuer, configuration.Issuer)
	}
	if err := safe(configuration.Keys); err != nil {
		return nil, fmt.Errorf("jwks_uri: %w", err)
	}
	var set struct {
		Keys []webKey `json:"keys"`
	}
	if err := k.get(ctx, configuration.Keys, &set); err != nil {
		return nil, err
	}
	keys := map[string]*rsa.PublicKey{}
	for _, candidate := range set.Keys {
		if key, err := candidate.public(); err == nil { // others may be there for other uses
			keys[candidate.ID] = key
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no usable key", configuration.Keys)
	}
	return keys, nil
}

func (k *Keys) get(ctx context.Context, target string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", target, err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("read %s: %s", target, resp.Status)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", target, err)
	}
	return nil
}

// webKey is a JSON Web Key, as far as RS256 needs it (RFC 7517, section 4, and
// RFC 7518, section 6.3.1).
type webKey struct {
	ID        string `json:"kid"`
	Type      string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

func (w webKey) public() (*rsa.PublicKey, error) {
	if w.ID == "" || w.Type != "RSA" || w.Use != "" && w.Use != "sig" || w.Algorithm != "" && w.Algorithm != "RS256" {
		return nil, errors.New("not a key for RS256")
	}
	n, errN := base64.RawURLEncoding.DecodeString(w.Modulus)
	e, errE := base64.RawURLEncoding.DecodeString(w.Exponent)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}
	if key.N.BitLen() < minKeyBits || !exponent.IsInt64() || key.E < 3 || exponent.Int64() >= 1<<31 || key.E%2 == 0 {
		return nil, errors.New("too weak, or not a key")
	}
	return key, nil
}

// safe returns what is wrong with an address that must be answered by whom it
// names: https, or http to this machine.
func safe(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return err
	case u.Host == "":
		return fmt.Errorf("%.200q is not a URL", address)
	case SafeAddress(u):
		return nil
	}
	return fmt.Errorf("%.200q is neither https nor on this machine", address)
}
