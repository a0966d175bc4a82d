package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// emulators serves the services alone, for the app under func start or in a
// debugger.
func emulators(ctx context.Context, c console) error {
	flags := newFlags("emulators")
	f := serveFlags{data: dataFlags{kept: true}}
	flags.StringVar(&f.at.AMQP, "amqp", system.DefaultAddresses.AMQP, "`address` of Service Bus and Event Hubs")
	flags.StringVar(&f.at.Cosmos, "cosmos", system.DefaultAddresses.Cosmos, "`address` of Cosmos DB")
	ranges := flags.Int("cosmos-ranges", 0, "partition key ranges of new containers, 1 to 256 (default 2; Azure begins with 1)")
	defineOpen(flags, &f.at.OpenToNetwork)
	f.data.define(flags)
	f.hub.define(flags)
	flags.BoolVar(&f.verbose, "verbose", false, "show the whole log, not only serious lines")
	if err := parse(c, flags); err != nil {
		return err
	}
	if err := checkAddresses("emulators", f.at); err != nil {
		return err
	}
	if err := f.data.check("emulators"); err != nil {
		return err
	}
	if err := f.hub.check("emulators"); err != nil {
		return err
	}
	f.data.limitMemory(ctx)
	project, err := stage.FindProject(".")
	if err != nil {
		return err
	}
	dir := filepath.Join(project, ".build", "local")
	log := newLog(filepath.Join(dir, "log.txt"), c.errOut, f.shown(slog.LevelWarn))
	defer log.close()
	d := newDisplay(c.out, false)
	s, err := system.StartServices(ctx, project, system.EmulatorsConfig{
		Addresses: f.at, Data: f.data.in(dir), Ranges: *ranges, Partitions: f.hub.partitions, Logger: log.logger, Notice: func(text string) { d.note("%s", text) },
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			log.logger.Error("stop", "error", err)
		}
	}()
	if err := log.serving(); err != nil {
		return err
	}
	e := s.Endpoints()
	if err := e.Write(filepath.Join(dir, "endpoints.json")); err != nil {
		return err
	}
	d.note("Service Bus, Event Hubs   %s", e.ServiceBus)
	d.note("Cosmos DB                 %s", e.CosmosDB)
	d.note("\nserving; Ctrl-C stops everything")
	return s.Wait(ctx)
}
