package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

const (
	// waitPause is the time between two rounds of probes.
	waitPause = 5 * time.Second
	// waitNews is how often it is told what is still waited for.
	waitNews = 30 * time.Second
)

func defineWait(f *flag.FlagSet) func(context.Context, *hook) error {
	limit := f.Duration("timeout", defaultWaitLimit, "give up after this `time`")
	return func(ctx context.Context, h *hook) error {
		if *limit <= 0 {
			return &usageError{fmt.Sprintf("wait: -timeout %v: use more than 0", *limit)}
		}
		probes, err := h.probes()
		if err != nil {
			return err
		}
		return h.wait(ctx, probes, *limit)
	}
}

// wait probes until each probe has succeeded once, or the limit is reached. It
// ends at once if nobody is signed in. A refusal for the network says nothing of
// roles, and no waiting changes it: the apps are in another network.
//
// A role assignment takes up to ten minutes until it works, and azd deploys
// right after it was made (Microsoft Learn, "Troubleshoot Azure RBAC", symptom:
// role assignment changes are not being detected).
func (h *hook) wait(ctx context.Context, probes []probe, limit time.Duration) error {
	start := h.clock.now()
	deadline, news := start.Add(limit), start.Add(waitNews)
	for {
		var left []probe
		var errs []error
		for _, p := range probes {
			err := p.try(ctx)
			switch {
			case err == nil:
				if err := h.say("%s: works", p.name); err != nil {
					return err
				}
			case byNetwork(err):
				if err := h.say("%s: closed to this machine's network (%v); skipped, since the apps reach it from inside", p.name, err); err != nil {
					return err
				}
			case ctx.Err() != nil || !canPass(err):
				return fmt.Errorf("%s: %w", p.name, err)
			default:
				left, errs = append(left, p), append(errs, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		if probes = left; len(probes) == 0 {
			return nil
		}
		now := h.clock.now()
		if !now.Add(waitPause).Before(deadline) {
			return fmt.Errorf("not ready after %v: %w%s", limit, errors.Join(errs...), adviceRoles)
		}
		if !now.Before(news) {
			news = now.Add(waitNews)
			if err := h.say("after %v, still waiting for %s", now.Sub(start).Round(time.Second), names(probes)); err != nil {
				return err
			}
		}
		if err := h.clock.sleep(ctx, waitPause); err != nil {
			return err
		}
	}
}

// canPass reports whether time alone may mend an error: a service that refuses
// or isn't there yet, but not a request that is wrong or a missing sign-in.
func canPass(err error) bool {
	// The errors of azidentity when nobody is signed in, or may not be, have this
	// method and no type in common.
	var never interface{ NonRetriable() }
	if errors.As(err, &never) {
		return false
	}
	var e *statusError
	if !errors.As(err, &e) {
		return true // the network
	}
	switch e.status {
	case 401, 403, 404, 408, 429:
		return true
	}
	return e.status >= 500
}

// byNetwork reports whether a service refuses the network that a request comes
// from, whatever role it has: Blob Storage by a code of its own (Microsoft Learn,
// "Blob service error codes"; a missing role is AuthorizationPermissionMismatch),
// Cosmos DB by its words.
func byNetwork(err error) bool {
	var e *statusError
	if !errors.As(err, &e) || e.status != 403 {
		return false
	}
	text := strings.ToLower(e.message)
	return e.code == "AuthorizationFailure" || strings.Contains(text, "firewall") || strings.Contains(text, "public internet") ||
		strings.Contains(text, "public network access")
}

// adviceRoles tells what to do about a role that does not work.
const adviceRoles = "\nrun azd provision again, or check the role assignments on the resources"

func names(probes []probe) string {
	all := make([]string, len(probes))
	for i, p := range probes {
		all[i] = p.name
	}
	return strings.Join(all, ", ")
}
