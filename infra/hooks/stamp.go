package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// taken are the variables that a stamp has from the environment of its front, and
// their names there. What isn't set there isn't set here either.
var taken = []struct{ here, there string }{
	{envFrontPrincipal, envWorkflowPrincipal}, {envFrontURL, envWorkflowURL}, {envBackendsURL, envBackendsURL},
	{envAuthMode, envAuthMode}, {"AUTH_TENANT_ID", "AUTH_TENANT_ID"}, {"AUTH_ACCOUNT_CLAIM", "AUTH_ACCOUNT_CLAIM"},
	{envWorkflowAuthClient, envWorkflowAuthClient}, {envBackendsAuthClient, envBackendsAuthClient}, {envBackendsKey, envBackendsKey},
	{"NOTIFY_URL", "NOTIFY_URL"}, {"NOTIFY_SIGNING_KEY", "NOTIFY_SIGNING_KEY"}, {"NOTIFY_SIGNING_KEY_PREVIOUS", "NOTIFY_SIGNING_KEY_PREVIOUS"},
	{"SMTP_URL", "SMTP_URL"}, {"SMTP_USER", "SMTP_USER"}, {"SMTP_PASSWORD", "SMTP_PASSWORD"}, {"MAIL_FROM", "MAIL_FROM"},
}

func defineJoin(*flag.FlagSet) func(context.Context, *hook) error {
	return func(ctx context.Context, h *hook) error { return h.join(ctx) }
}

// join gives a stamp what it shares with its front: app registrations, backends,
// the receiver of notices, and whose identity sends to it. A pipeline, which has no
// other environment beside its own, has set it all.
func (h *hook) join(ctx context.Context) error {
	if !h.env.stamp() {
		return nil
	}
	if n, err := strconv.ParseUint(h.env(envShard), 10, 16); err != nil || n < 2 {
		return &usageError{fmt.Sprintf("join: %s is %q: set it to the number that the map will have for this shard, one more than the last of go run ./infra/local ops shards", envShard, h.env(envShard))}
	}
	front := h.env(envFront)
	switch own, err := h.env.name(); {
	case err != nil:
		return err
	case front == own:
		return &usageError{fmt.Sprintf("join: %s is %s, this environment itself: set it to that of the first shard", envFront, front)}
	case front == "" && h.env(envFrontPrincipal) != "":
		return h.say("%s is not set: %s and the others are taken as they are", envFront, envFrontPrincipal)
	case front == "":
		return &usageError{fmt.Sprintf("join: set %s to the azd environment of the first shard", envFront)}
	}
	values, err := h.envValues(ctx, front)
	if err != nil {
		return err
	}
	at := environment(func(name string) string { return values[name] })
	if _, err := at.need(envWorkflowPrincipal, envWorkflowURL, envBackendsURL); err != nil {
		return fmt.Errorf("environment %s: %w", front, err)
	}
	if at.stamp() {
		return &usageError{fmt.Sprintf("join: %s is a stamp itself: set %s to the environment of the first shard", front, envFront)}
	}
	for _, v := range taken {
		if value := values[v.there]; value != h.env(v.here) {
			if err := h.setEnv(ctx, v.here, value); err != nil {
				return err
			}
		}
	}
	return h.say("this is shard %s of %s", h.env(envShard), front)
}

func defineShard(*flag.FlagSet) func(context.Context, *hook) error {
	return func(_ context.Context, h *hook) error { return h.shard() }
}

// shard says how the shard comes into the map, without a weight at first: then it
// gets the requests of pinned callers alone.
func (h *hook) shard() error {
	if !h.env.stamp() {
		return nil
	}
	environment, err := h.env.name()
	if err != nil {
		return err
	}
	values, err := h.env.need(envShard, envEventHubs, envCosmosDB, envWorkflowURL, envSubscription, envResourceGroup)
	if err != nil {
		return err
	}
	file, err := h.projectSettings("COSMOSDB_DATABASE", "EVENTHUB_NAME")
	if err != nil {
		return err
	}
	to := ""
	if front := h.env(envFrontURL); front != "" {
		to = " -url " + front
	}
	if audience := h.env(envWorkflowAudience); audience != "" {
		to += " -audience " + audience
	}
	namespace, _, _ := strings.Cut(values[envEventHubs], ".")
	return h.say(`after azd deploy workflow, this adds it to the map, as shard %s:
  go run ./infra/local ops shards add %s%s -hub %s -database %s -eventhubs %s -cosmosdb %s -app %s -why "..."
docs/scale.md says how it gets requests then. To close it one day, its hub is
  -hub %s/providers/Microsoft.EventHub/namespaces/%s/eventhubs/%s`, values[envShard], environment, to, file["EVENTHUB_NAME"], file["COSMOSDB_DATABASE"],
		values[envEventHubs], values[envCosmosDB], values[envWorkflowURL], groupPath(values), url.PathEscape(namespace), url.PathEscape(file["EVENTHUB_NAME"]))
}
