package main

import (
	"net/http"
	"strings"
	"testing"
)

// Ensure that nobody orders on another's account: refused, with nothing stored or
// sent, by default as by a claim of the adopter's.
func TestAnothersAccount(t *testing.T) {
	own := strings.Replace(deliveryBody, "owner-1", "ada", 1)
	for name, c := range map[string]struct {
		claim    string
		accounts any // of the claim extension_accounts; nil for none
		owner1   bool
		ada      bool
	}{
		"by default":        {"oid", nil, false, true},
		"of a list":         {"extension_accounts", []string{"owner-7", "owner-1"}, true, false},
		"of one":            {"extension_accounts", "owner-1", true, false},
		"of another":        {"extension_accounts", "owner-11", false, false},
		"of none":           {"extension_accounts", nil, false, false},
		"of an empty one":   {"extension_accounts", "", false, false},
		"of something else": {"extension_accounts", map[string]any{"owner-1": true}, false, false},
		"of a mixture":      {"extension_accounts", []any{"owner-1", 1}, false, false},
		"of any":            {"none", nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEntraWorld(t, "AUTH_ACCOUNT_CLAIM", c.claim)
			claims := e.issuer.Claims("ada", "Client")
			if c.accounts != nil {
				claims["extension_accounts"] = c.accounts
			}
			e.token = e.issuer.Sign(claims)
			for body, allowed := range map[string]bool{deliveryBody: c.owner1, own: c.ada} {
				for _, way := range [][2]string{{http.MethodPost, "/api/deliveryrequests"}, {http.MethodPut, "/api/deliveryrequests/d-1"}} {
					if allowed {
						e.accepted(way[0], way[1], body)
						e.producer.take()
						delete(e.requests.kept, "d-1")
						continue
					}
					_, p := e.refused(http.StatusForbidden, way[0], way[1], body, "Idempotency-Key", "k")
					if !strings.Contains(p.Detail, "ownerId") || !strings.Contains(p.Detail, c.claim) {
						t.Errorf("told %q", p.Detail)
					}
					if events := e.producer.take(); len(events) > 0 || len(e.requests.kept) > 0 || len(e.transactions.All()) > 0 {
						t.Errorf("%s %s left %s, %v", way[0], way[1], events, e.requests.kept)
					}
				}
			}
		})
	}
}
