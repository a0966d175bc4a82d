package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// demo serves, sends requests, and sums up what became of them.
func demo(ctx context.Context, c console) error {
	flags := newFlags("demo")
	var f serveFlags
	f.define(flags)
	requests := flags.Int("requests", 1000, "requests to send, 20 to 1000000; duplicates and malformed ones come on top")
	seed := flags.Uint64("seed", 1, "seed of the requests")
	samples := flags.String("samples", "", samplesUsage)
	exit := flags.Bool("exit", false, "exit after the summary")
	asJSON := flags.Bool("json", false, "write JSON, one object a line")
	if err := parse(c, flags); err != nil {
		return err
	}
	if err := f.check("demo"); err != nil {
		return err
	}
	if *requests < workload.MinRequests || *requests > 1_000_000 {
		return &usageError{fmt.Sprintf("demo: -requests %d: use %d to 1000000", *requests, workload.MinRequests)}
	}
	t, _, err := trialOf(*samples)
	if err != nil {
		return &usageError{"demo: " + err.Error()}
	}
	var settings map[string]string
	if t.Settings != nil {
		settings = t.Settings(plenty * *requests)
	}
	d := newDisplay(c.out, *asJSON)
	running, err := start(ctx, c, d, f, nothingShown, settings)
	if err != nil {
		return err
	}
	defer running.close()
	var summary *workload.Summary
	err = running.system.During(ctx, func(ctx context.Context) (err error) {
		summary, err = runWorkload(ctx, d, running, t, *seed, *requests)
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

// plenty is for how many times the requests a demo has the means: chaos lets them get
// scarce.
const plenty = 2

// nothingShown is above all levels of log lines: some errors are part of the
// demo's plan, and the summary tells of the others.
const nothingShown = slog.LevelError + 1

func runWorkload(ctx context.Context, d *display, r *running, t trial.Trial, seed uint64, requests int) (*workload.Summary, error) {
	if err := workload.Prepare(ctx, workload.ClientOptions{URL: r.url()}, t.Before); err != nil {
		return nil, err
	}
	start := time.Now()
	items, err := workload.Plan(t, seed, strconv.FormatInt(start.Unix(), 36), requests, start)
	if err != nil {
		return nil, err
	}
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
		d.follow(&tally, requests, done)
	}()
	summary, err := workload.Run(ctx, workload.Config{
		URL: r.url(), Resource: chosen.Business().Resource, Items: items, Poison: services.Poison, Quarantined: services.Quarantined,
	}, &tally)
	close(done)
	<-shown
	return summary, err
}
