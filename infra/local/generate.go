package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fabrikam/drone-delivery/infra/local/internal/generate"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// runGenerate writes what is static and follows from the business into the
// project: the folder functions, and what Bicep reads.
func runGenerate(ctx context.Context, c console) error {
	if err := parse(c, newFlags("generate")); err != nil {
		return err
	}
	project, err := stage.FindProject(".")
	if err != nil {
		return err
	}
	written, err := generateInto(ctx, project)
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	_, err = fmt.Fprintf(c.out, "wrote %s and %d functions\n", generate.Path, written)
	return err
}

// generateInto returns how many functions there are. The folders of others are
// removed: the business has them no more.
func generateInto(ctx context.Context, project string) (int, error) {
	b := chosen.Business()
	business, err := generate.Business(b)
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "generate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	app := filepath.Join(work, "app")
	if err := stage.Stage(ctx, stage.Options{Project: project, Out: app, Target: stage.Local, Generate: true}); err != nil {
		return 0, err
	}
	functions := filepath.Join(project, "functions")
	if err := os.RemoveAll(functions); err != nil {
		return 0, err
	}
	names := settings.FunctionNames(b)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(app, name, "function.json"))
		if err != nil {
			return 0, err
		}
		folder := filepath.Join(functions, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(folder, "function.json"), content, 0o644); err != nil {
			return 0, err
		}
	}
	return len(names), os.WriteFile(filepath.Join(project, filepath.FromSlash(generate.Path)), business, 0o644)
}
