package auth_test

import (
	"net/url"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/auth"
)

func TestSafeAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/a":       true,
		"https://127.0.0.1":           true,
		"http://127.0.0.1:7071/api":   true,
		"http://127.8.9.1":            true,
		"http://[::1]:80":             true,
		"http://localhost":            true,
		"http://example.com":          false,
		"http://localhost.example":    false,
		"http://127.0.0.1.example":    false,
		"http://10.0.0.1":             false,
		"ftp://127.0.0.1":             false,
		"http://user@example.com:443": false,
		"127.0.0.1:80":                false,
		"":                            false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			u = &url.URL{}
		}
		if got := auth.SafeAddress(u); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
