package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// runHost runs the Functions host alone. The services are those that the
// environment or local.settings.json names: ours, Microsoft's emulators, or
// Azure's own.
func runHost(ctx context.Context, c console) error {
	flags := newFlags("host")
	app := flags.String("app", "", "staged `folder` (default: stage .build/app now)")
	http := flags.String("http", system.DefaultAddresses.HTTP, "`address` of the function app; port 0 takes a free one")
	name := flags.String("name", "instance 1", "what logs and notices call this instance")
	state := flags.String("state", "", "Cosmos DB connection `string` for checkpoints and timers (default: the app's own)")
	untilEOF := flags.Bool("until-eof", false, "end when standard input does, as a child of serve")
	if err := parse(c, flags); err != nil {
		return err
	}
	if *untilEOF {
		ctx = endAtEOF(ctx, os.Stdin)
	}
	d := newDisplay(c.out, false)
	dir, err := appToRun(ctx, d, *app)
	if err != nil {
		return err
	}
	log := consoleLog(c.out)
	instance, err := system.StartInstance(ctx, system.InstanceConfig{
		Name: *name, App: dir, HTTP: *http, State: *state,
		Logger: log.logger, HandlerLog: log.handlerLine, Notice: func(text string) { d.note("%s", text) },
	})
	if err != nil {
		return err
	}
	d.note("%s serves http://%s", *name, instance.Address())
	select {
	case <-ctx.Done():
	case <-instance.Finished():
	}
	if err := instance.Close(); err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	return nil
}

// endAtEOF ends the context when nothing more can be read.
func endAtEOF(ctx context.Context, from io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, err := io.Copy(io.Discard, from)
		if err == nil {
			err = io.EOF
		}
		cancel(err)
	}()
	return ctx
}
