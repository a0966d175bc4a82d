package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// deployPause is the time between two deployments. A role assignment takes up to
// ten minutes until it works.
const deployPause = 30 * time.Second

func defineDeploy(f *flag.FlagSet) func(context.Context, *hook) error {
	limit := f.Duration("timeout", 20*time.Minute, "stop retrying after this `time`")
	return func(ctx context.Context, h *hook) error { return h.deploy(ctx, *limit) }
}

// deploy runs azd deploy, and again while the upload of a package is refused.
//
// It is the app's identity that uploads, from inside Azure: that its role is
// assigned can be seen before (command wait), but that it works only here, and azd
// gives up at once (Azure/azure-dev issue 8026).
func (h *hook) deploy(ctx context.Context, limit time.Duration) error {
	environment, err := h.env.name()
	if err != nil {
		return err
	}
	what := "--all"
	if h.env.stamp() {
		what = "workflow" // the backends are its front's
	}
	start := h.clock.now()
	for {
		var said bytes.Buffer
		err := h.azd(ctx, io.MultiWriter(h.out, &said), "deploy", what, "--no-prompt", "-e", environment)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !uploadRefused(said.String()):
			return fmt.Errorf("azd deploy: %w", err)
		case h.clock.now().Add(deployPause).Sub(start) > limit:
			return fmt.Errorf("azd deploy: %w: the upload is still refused after %v%s", err, h.clock.now().Sub(start).Round(time.Second), adviceRoles)
		}
		if err := h.say("the upload was refused: the role of the app's identity doesn't work yet; next try in %v", deployPause); err != nil {
			return err
		}
		if err := h.clock.sleep(ctx, deployPause); err != nil {
			return err
		}
	}
}

// uploadRefused reports whether the platform could not put a package into its
// container: the words are those of Azure/azure-dev issue 8026.
func uploadRefused(text string) bool {
	for _, words := range []string{"InaccessibleStorageException", "BlobUploadFailedException"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
