package main

import (
	"context"
	"crypto/rand"
	"flag"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

func defineKeys(*flag.FlagSet) func(context.Context, *hook) error {
	return func(ctx context.Context, h *hook) error { return h.keys(ctx) }
}

// keys makes the keys that azd's environment hasn't, and that the deployment puts
// into the vault. A stamp has none of its own.
func (h *hook) keys(ctx context.Context) error {
	if h.env.stamp() {
		return nil // the front mints and verifies ids, and the backends are its
	}
	if err := h.idKeys(ctx); err != nil {
		return err
	}
	return h.backendsKey(ctx)
}

// idKeys makes the key of the ids that the app gives out.
func (h *hook) idKeys(ctx context.Context) error {
	keys, err := shard.ParseIDKeys(h.env(envIDKeys))
	if err != nil {
		return &usageError{envIDKeys + ": " + err.Error()}
	}
	if len(keys) > 0 {
		return h.say("%s is set: %s signs ids", envIDKeys, keys[0])
	}
	key, err := shard.NewIDKey(1, rand.Reader)
	if err != nil {
		return err
	}
	if err := h.setEnv(ctx, envIDKeys, key.Reveal()); err != nil {
		return err
	}
	return h.say("made %s: %s signs ids. A pipeline that deploys this environment needs it as its secret %s", envIDKeys, key, envIDKeys)
}
