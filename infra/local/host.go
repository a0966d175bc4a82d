package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// runHost runs the Functions host alone. The services are those that the
// environment or the local settings file names: ours, Microsoft's emulators, or
// Azure's own.
func runHost(ctx context.Context, c console) error {
	flags := newFlags("host")
	app := flags.String("app", "", "staged `folder` (default: stages .build/app first)")
	var at system.Addresses
	flags.StringVar(&at.HTTP, "http", system.DefaultAddresses.HTTP, "`address` of the function app; port 0 takes a free one")
	defineOpen(flags, &at.OpenToNetwork)
	var settings string
	defineSettings(flags, &settings)
	name := flags.String("name", "instance 1", "this instance's name in logs and notices")
	state := flags.String("state", "", "Cosmos DB connection `string` for checkpoints and timers (default: the app's own)")
	var profileName, crashesFrom string
	defineCrashes(flags, &crashesFrom)
	defineProfile(flags, &profileName)
	faultsFrom := flags.String("faults-from", "", "`URL` of an admin endpoint; its plan of faults applies here, too")
	instances := flags.Int("instances", 1, "how many instances share the plan of faults")
	untilEOF := flags.Bool("until-eof", false, "stop in order when standard input says \"stop\"; exit at once when it ends without that word")
	if err := parse(c, flags); err != nil {
		return err
	}
	profile, err := system.ProfileNamed(profileName)
	if err != nil {
		return &usageError{fmt.Sprintf("host: -profile: %v", err)}
	}
	if err := checkAddresses("host", at); err != nil {
		return err
	}
	if err := checkSettings(settings); err != nil {
		return err
	}
	if *untilEOF {
		ctx = endWithInput(ctx, os.Stdin)
	}
	d := newDisplay(c.out, false)
	dir, err := appToRun(ctx, d, *app)
	if err != nil {
		return err
	}
	log := consoleLog(c.out)
	crashes, err := openCrashes(crashesFrom, log.logger)
	if err != nil {
		return err
	}
	defer crashes.Close()
	var faults *fault.Injector
	if *faultsFrom != "" {
		faults = fault.NewInstance(*name)
	}
	instance, err := system.StartInstance(ctx, system.InstanceConfig{
		Name: *name, App: dir, HTTP: at.HTTP, OpenToNetwork: at.OpenToNetwork, SettingsFile: settings, State: *state, Profile: profile, Faults: faults, Crashes: crashes, Instances: *instances,
		Logger: log.logger, HandlerLog: log.handlerLine, Notice: func(text string) { d.note("%s", text) },
	})
	if err != nil {
		return err
	}
	d.note("%s serves http://%s", *name, instance.Address())
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	if faults != nil {
		following.Go(func() { system.FollowFaults(ctx, faults, *faultsFrom, log.logger) })
	}
	select {
	case <-ctx.Done():
	case <-instance.Finished():
	}
	cancel()
	following.Wait()
	if err := instance.Close(); err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	return nil
}

// stopWord is what a parent says to a child that is to end in an orderly way.
const stopWord = "stop\n"

var errToldToStop = errors.New("told to stop")

// endWithInput ends the context when the parent says so. It ends the process
// when the parent's end of the pipe is closed without a word: the parent has
// been killed then, the services with it, and nobody must find this instance
// beside those that are started anew. The handler dies with the process.
func endWithInput(ctx context.Context, from io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		said, err := io.ReadAll(from)
		if err != nil || !strings.HasSuffix(string(said), stopWord) {
			os.Exit(exitError)
		}
		cancel(errToldToStop)
	}()
	return ctx
}
