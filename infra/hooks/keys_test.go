package main

import (
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that a key is made once, that it is one that the app takes, and that it
// is not shown.
func TestKeysAreMadeOnce(t *testing.T) {
	w := newWorld(t, map[string]string{}, nil)
	for range 2 {
		if exit := w.call(t, "keys"); exit != exitOK {
			t.Fatalf("exit %d: %s", exit, &w.errors)
		}
	}
	keys, err := shard.ParseIDKeys(w.vars[envIDKeys])
	if err != nil || len(keys) != 1 || len(w.set) != 1 {
		t.Errorf("%v, %v; set %v", keys, err, w.set)
	}
	if secret := w.vars[envIDKeys][2:]; strings.Contains(w.said.String(), secret) {
		t.Errorf("shows its secret: %s", &w.said)
	}
}

// Ensure that keys that the app would refuse stop before anything is deployed.
func TestKeysThatCantBeRead(t *testing.T) {
	w := newWorld(t, map[string]string{envIDKeys: "1.verysecret"}, nil)
	if exit := w.call(t, "keys"); exit != exitUsage || !strings.Contains(w.errors.String(), envIDKeys) || strings.Contains(w.errors.String(), "verysecret") {
		t.Errorf("exit %d: %s", exit, &w.errors)
	}
	if len(w.set) > 0 {
		t.Errorf("set %v", w.set)
	}
}
