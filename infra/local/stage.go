package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
)

// stageApp builds the staged app for this machine or for Azure.
func stageApp(ctx context.Context, c console) error {
	flags := newFlags("stage")
	target := flags.String("for", string(stage.Local), "what to build for: local or azure")
	out := flags.String("out", "", "folder to make (default .build/app, or .build/azure for azure)")
	if err := parse(c, flags); err != nil {
		return err
	}
	if *target != string(stage.Local) && *target != string(stage.Azure) {
		return &usageError{fmt.Sprintf("stage: -for %q: use local or azure", *target)}
	}
	dir, err := staged(ctx, stage.Target(*target), *out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "staged %s for %s\n", dir, *target)
	return err
}

// staged stages the app from the project around the working folder and returns
// the staged folder.
func staged(ctx context.Context, target stage.Target, out string) (string, error) {
	project, err := stage.FindProject(".")
	if err != nil {
		return "", err
	}
	if out == "" {
		out = filepath.Join(project, target.Dir())
	}
	return out, stage.Stage(ctx, stage.Options{Project: project, Out: out, Target: target})
}
