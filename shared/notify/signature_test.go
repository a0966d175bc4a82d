package notify_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/notify"
)

var (
	seed  = []byte("TESTSIGNINGKEYDONOTUSETHISFORANY")
	other = []byte("anothersigningkeyofthirtytwobyte")
)

func secretOf(seed []byte) string { return "whsk_" + base64.StdEncoding.EncodeToString(seed) }

func keyOf(t *testing.T, seed []byte) notify.SigningKey {
	t.Helper()
	k, err := notify.ParseSigningKey(secretOf(seed))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Ensure the signature is the one that other implementations make: the values
// are those of a published test of the scheme.
func TestSignAsOthersDo(t *testing.T) {
	header := http.Header{}
	err := notify.Sign(header, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999), []byte(`{"test": 2432232314}`), keyOf(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"webhook-id":        "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330",
		"webhook-signature": "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// Ensure each of two keys has its own signature, so that receivers of either
// public key can verify.
func TestSignWithTwoKeys(t *testing.T) {
	header := http.Header{}
	body := []byte(`{"a":1}`)
	if err := notify.Sign(header, "m", time.Unix(5, 0), body, keyOf(t, seed), keyOf(t, other)); err != nil {
		t.Fatal(err)
	}
	signatures := strings.Split(header.Get("webhook-signature"), " ")
	if len(signatures) != 2 {
		t.Fatalf("signatures %v, want two", signatures)
	}
	for i, seed := range [][]byte{seed, other} {
		public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signatures[i], "v1a,"))
		if err != nil || !ed25519.Verify(public, []byte(`m.5.{"a":1}`), signature) {
			t.Errorf("signature %d does not fit its key: %v", i, err)
		}
		if want := "whpk_" + base64.StdEncoding.EncodeToString(public); keyOf(t, seed).Public() != want {
			t.Errorf("public key %s, want %s", keyOf(t, seed).Public(), want)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		id   string
		keys []notify.SigningKey
	}{
		"no id":           {"", []notify.SigningKey{keyOf(t, seed)}},
		"an id with dots": {"a.1700000000.b", []notify.SigningKey{keyOf(t, seed)}},
		"no key":          {"m", nil},
		"an empty key":    {"m", []notify.SigningKey{keyOf(t, seed), {}}},
	} {
		header := http.Header{}
		if err := notify.Sign(header, test.id, time.Unix(5, 0), nil, test.keys...); err == nil || len(header) > 0 {
			t.Errorf("%s: error %v, headers %v", name, err, header)
		}
	}
}

func TestParseKey(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                  "",
		"no prefix":                base64.StdEncoding.EncodeToString(seed),
		"a public key":             "whpk_" + base64.StdEncoding.EncodeToString(seed),
		"a symmetric secret":       "whsec_" + base64.StdEncoding.EncodeToString(seed),
		"not base64":               "whsk_verysecret!",
		"too short":                secretOf(seed[1:]),
		"a whole private key":      secretOf(ed25519.NewKeyFromSeed(seed)),
		"a reference not resolved": "@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/verysecret)",
	} {
		_, err := notify.ParseSigningKey(text)
		if !errors.Is(err, notify.ErrSigningKey) {
			t.Errorf("%s: error %v, want ErrKey", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%s: the error shows the text: %v", name, err)
		}
	}
	if k, err := notify.ParseSigningKey(" " + secretOf(seed) + "\n"); err != nil || k.Public() != keyOf(t, seed).Public() {
		t.Errorf("space around a key: %v", err)
	}
}

func TestKeyDoesNotPrint(t *testing.T) {
	k := keyOf(t, seed)
	encoded, err := json.Marshal(struct{ K string }{fmt.Sprintf("%v %+v %#v %v", k, k, k, &k)})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{string(seed), fmt.Sprintf("%x", seed), strings.Trim(fmt.Sprint(seed), "[]"), secretOf(seed)[5:]} {
		if strings.Contains(string(encoded), secret) {
			t.Errorf("the secret is printed: %s", encoded)
		}
	}
}
