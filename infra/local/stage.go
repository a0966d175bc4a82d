package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fabrikam/drone-delivery/infra/local/internal/generate"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// stageApp builds the staged app for this machine or for Azure.
func stageApp(ctx context.Context, c console) error {
	flags := newFlags("stage")
	target := flags.String("for", string(stage.Local), "what to build for: local or azure")
	auth := flags.String("auth", "", "who checks callers in azure: entra (the default; App Service and the handler) or keys (the host)")
	out := flags.String("out", "", "folder to make (default .build/app, or .build/azure for azure)")
	if err := parse(c, flags); err != nil {
		return err
	}
	o := stage.Options{Target: stage.Target(*target), Out: *out}
	switch {
	case o.Target == stage.Azure:
		o.Auth = stage.Auth(cmp.Or(*auth, string(stage.Entra)))
	case o.Target != stage.Local:
		return &usageError{fmt.Sprintf("stage: -for %q: use local or azure", *target)}
	case *auth != "":
		return &usageError{"stage: -auth: only with -for azure"}
	}
	if o.Auth != "" && o.Auth != stage.Entra && o.Auth != stage.Keys {
		return &usageError{fmt.Sprintf("stage: -auth %q: use entra or keys", *auth)}
	}
	dir, err := stageProject(ctx, o)
	if err != nil {
		return err
	}
	size, err := stage.SizeOf(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "staged %s for %s: %v\n", dir, *target, size)
	return err
}

// stageProject stages the app from the project around the working folder, by
// default into the target's folder there, and returns that. What the project holds
// of another business than this tool's is generated instead of copied.
func stageProject(ctx context.Context, o stage.Options) (string, error) {
	var err error
	if o.Project, err = stage.FindProject("."); err != nil {
		return "", err
	}
	o.Out = cmp.Or(o.Out, filepath.Join(o.Project, o.Target.Dir()))
	written, err := os.ReadFile(filepath.Join(o.Project, generate.Path))
	if err != nil {
		return "", err
	}
	now, err := generate.Business(chosen.Business())
	if err != nil {
		return "", err
	}
	o.Generate = !bytes.Equal(written, now)
	return o.Out, stage.Stage(ctx, o)
}
