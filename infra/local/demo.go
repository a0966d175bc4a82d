package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// demo serves, sends deliveries, and sums up what became of them.
func demo(ctx context.Context, c console) error {
	flags := newFlags("demo")
	var f serveFlags
	f.define(flags)
	deliveries := flags.Int("deliveries", 1000, "delivery requests to send, besides duplicates and malformed ones")
	seed := flags.Uint64("seed", 1, "seed of the requests")
	exit := flags.Bool("exit", false, "exit after the summary")
	asJSON := flags.Bool("json", false, "write JSON, one object a line")
	if err := parse(c, flags); err != nil {
		return err
	}
	if err := f.check("demo"); err != nil {
		return err
	}
	if *deliveries < workload.MinDeliveries || *deliveries > 1_000_000 {
		return &usageError{fmt.Sprintf("demo: -deliveries %d: use %d to 1000000", *deliveries, workload.MinDeliveries)}
	}
	d := newDisplay(c.out, *asJSON)
	running, err := start(ctx, c, d, f, nothingShown, demoSettings(*deliveries))
	if err != nil {
		return err
	}
	defer running.close()
	var summary *workload.Summary
	err = running.system.During(ctx, func(ctx context.Context) (err error) {
		summary, err = runWorkload(ctx, d, running, *seed, *deliveries)
		return err
	})
	if err != nil {
		return err
	}
	if *asJSON {
		d.object(map[string]any{"summary": summary})
	} else if err := summary.WriteText(c.out); err != nil {
		return err
	}
	if !summary.OK() {
		return fmt.Errorf("the counts do not add up; see the faults above, and %s", relative(running.log.path))
	}
	if *exit {
		return nil
	}
	d.note("\nstill serving; Ctrl-C stops everything. Try:\n  curl -s %s/api/ready", running.url())
	return running.wait(ctx)
}

// nothingShown is above all levels of log lines: some errors are part of the
// demo's plan, and the summary tells of the others.
const nothingShown = slog.LevelError + 1

// demoSettings make waiting for a drone happen, and end soon: the fleet is
// smaller than the number of deliveries, and flights are short.
func demoSettings(deliveries int) map[string]string {
	return map[string]string{
		"FLEET_DRONES":      strconv.Itoa(max(10, deliveries*6/10)),
		"FLIGHT_TIME_SCALE": "0.002",
	}
}

func runWorkload(ctx context.Context, d *display, r *running, seed uint64, deliveries int) (*workload.Summary, error) {
	if err := workload.Seed(ctx, r.url()); err != nil {
		return nil, err
	}
	start := time.Now()
	items := workload.Plan(seed, strconv.FormatInt(start.Unix(), 36), deliveries, start)
	d.note("\nsending %d requests (seed %d)", len(items), seed)

	endpoints, app := r.system.Endpoints(), r.system.AppSettings()
	services, err := workload.OpenServices(workload.Target{
		EventHubs: endpoints.EventHubs, EventHub: app.EventHub,
		CosmosDB: endpoints.CosmosDB, Database: app.Database,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := services.Close(); err != nil {
			r.log.logger.Error("close the demo's clients", "error", err)
		}
	}()
	var tally workload.Tally
	done, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		d.follow(&tally, deliveries, done)
	}()
	summary, err := workload.Run(ctx, workload.Config{
		URL: r.url(), Items: items, Poison: services.Poison, Quarantined: services.Quarantined,
	}, &tally)
	close(done)
	<-shown
	return summary, err
}
