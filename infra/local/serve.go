package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/infra/local/profile"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/page"
)

// serveFlags are the flags that serve and demo share.
type serveFlags struct {
	at        system.Addresses
	app       string
	instances int
	data      dataFlags
	hub       hubFlags
	faults    faultFlags
	verbose   bool
	trace     string
	settings  string // only serve
	split     bool   // only serve
	follow    bool   // only serve: each invocation is shown
	shards    int    // only serve
	mapped    int    // only serve
	second    string // only serve: address
	clocks    clocks
}

func (f *serveFlags) define(flags *flag.FlagSet) {
	at := system.DefaultAddresses
	flags.StringVar(&f.at.HTTP, "http", at.HTTP, "`address` of the function app; port 0 takes a free one")
	flags.StringVar(&f.at.AMQP, "amqp", at.AMQP, "`address` of Service Bus and Event Hubs")
	flags.StringVar(&f.at.Cosmos, "cosmos", at.Cosmos, "`address` of Cosmos DB")
	flags.StringVar(&f.app, "app", "", "staged `folder` to run (default: stages .build/app first)")
	flags.IntVar(&f.instances, "instances", 1, "instances of the function app, 1 to 16, each with its own handler")
	defineOpen(flags, &f.at.OpenToNetwork)
	f.data.define(flags)
	f.hub.define(flags)
	f.faults.define(flags)
	flags.Var(&f.clocks, "clocks", "how far each instance's clock is off, as a `list` such as 2s,-2s")
	flags.StringVar(&f.trace, "trace", "", "`file` for the spans of all handlers, as lines of OTLP in JSON")
	flags.BoolVar(&f.verbose, "verbose", false, "show the whole log, not only serious lines")
}

// defineOpen defines the flag without which nothing listens where other machines
// reach it.
func defineOpen(flags *flag.FlagSet, open *bool) {
	flags.BoolVar(open, "open-to-network", false, "allow addresses that other machines can reach; those machines can then do anything here")
}

func checkAddresses(command string, at system.Addresses) error {
	if err := at.Check(); err != nil {
		return &usageError{fmt.Sprintf("%s: %v", command, err)}
	}
	return nil
}

// shown is the level from which on log lines are shown: normally level.
func (f *serveFlags) shown(level slog.Level) slog.Level {
	if f.verbose {
		return slog.LevelDebug
	}
	return level
}

func (f *serveFlags) check(command string) error {
	if f.instances < 1 || f.instances > 16 {
		return &usageError{fmt.Sprintf("%s: -instances %d: use 1 to 16", command, f.instances)}
	}
	if err := checkAddresses(command, f.at); err != nil {
		return err
	}
	if err := f.data.check(command); err != nil {
		return err
	}
	if err := f.hub.check(command); err != nil {
		return err
	}
	return f.faults.check(command)
}

// serve builds the app and serves it until ctx ends.
func serve(ctx context.Context, c console) error {
	flags := newFlags("serve")
	f := serveFlags{data: dataFlags{kept: true}}
	f.define(flags)
	defineSettings(flags, &f.settings)
	asJSON := flags.Bool("json", false, "write one JSON object a line")
	flags.BoolVar(&f.follow, "invocations", false, "show each invocation of a function in a line; the handlers log at the level debug for that")
	flags.IntVar(&f.shards, "shards", 1, fmt.Sprintf("shards, 1 to %d: each has a hub, queues, a database and an app of its own", system.MaxShards))
	flags.IntVar(&f.mapped, "mapped", 0, "how many of the shards are put into the map of where requests go; 0 is all")
	flags.StringVar(&f.second, "second-http", "127.0.0.1:0", "`address` of the second instance; port 0 takes a free one")
	flags.BoolVar(&f.split, "split", false, "run the backends as a separate app, on the next free port, as in Azure")
	if err := parse(c, flags); err != nil {
		return err
	}
	if err := f.check("serve"); err != nil {
		return err
	}
	if f.shards < 1 || f.shards > system.MaxShards || f.shards > 1 && f.settings != "" {
		return &usageError{fmt.Sprintf("serve: -shards %d: use 1 to %d, and only 1 with -settings", f.shards, system.MaxShards)}
	}
	if f.mapped < 0 || f.mapped > f.shards {
		return &usageError{fmt.Sprintf("serve: -mapped %d: use 1 to the number of -shards, or 0 for all", f.mapped)}
	}
	f.mapped = cmp.Or(f.mapped, f.shards)
	if err := checkAddresses("serve", system.Addresses{HTTP: f.second, AMQP: f.at.AMQP, Cosmos: f.at.Cosmos, OpenToNetwork: f.at.OpenToNetwork}); err != nil {
		return err
	}
	if err := checkSettings(f.settings); err != nil {
		return err
	}
	if err := invariant.Fit(chosen.Business(), chosentrial.Trial()); err != nil {
		return &usageError{"serve: " + err.Error()}
	}
	f.data.limitMemory(ctx)
	profile.Obey("runtime")
	d := newDisplay(c.out, *asJSON)
	set := map[string]string{metricsSetting: "true"}
	if f.follow {
		set["LOG_LEVEL"] = "debug"
	}
	running, err := start(ctx, c, d, f, slog.LevelWarn, set)
	if err != nil {
		return err
	}
	defer running.close()
	if err := running.system.During(ctx, func(ctx context.Context) error { return running.seed(ctx, d) }); err != nil {
		return err
	}
	showFunctions(d, "functions", running.system.Instance.Host().Functions())
	if backends := running.system.Backends; backends != nil {
		showFunctions(d, "functions of the backends' app", backends.Host().Functions())
	}
	d.note("\nserving; Ctrl-C stops everything. Try:\n  curl -s %s/api/ready", running.url())
	return running.wait(ctx)
}

// running is a started system with what belongs to it. What has not started is nil.
type running struct {
	system   *system.System
	children *children
	foreign  *foreign
	crashes  *effect.Watch
	log      *logFile
}

// start stages the app and starts the system. set wins over all other settings
// of the app; log lines from level on are shown.
func start(ctx context.Context, c console, d *display, f serveFlags, level slog.Level, set map[string]string) (*running, error) {
	app, err := appToRun(ctx, d, f.app)
	if err != nil {
		return nil, err
	}
	if set, err = f.withTelemetry(set, os.LookupEnv); err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(app), "local")
	r := &running{log: newLog(filepath.Join(dir, "log.txt"), c.errOut, f.shown(level))}
	if f.follow {
		r.log.follow = newInvocations(d).follow
	}
	if err := r.start(ctx, d, f, app, dir, set); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// start starts all parts, in their order. After an error, those that have started
// are to be closed.
func (r *running) start(ctx context.Context, d *display, f serveFlags, app, dir string, set map[string]string) (err error) {
	if r.crashes, err = openCrashes(f.faults.crashes, r.log.logger); err != nil {
		return err
	}
	if r.foreign, err = planServices(f.settings, f.data.in(dir)); err != nil {
		return err
	}
	faults := fault.New()
	hosts := f.instances
	set = f.clocks.in(r.foreign.in(set), 1)
	if f.split {
		hosts++
	}
	hosts += max(0, f.shards-1)
	notice := func(text string) { d.note("%s", text) }
	d.note("starting the services and the function app")
	r.system, err = system.Start(ctx, system.Config{
		App: app, Addresses: f.at, Data: f.data.in(dir), Settings: set, SettingsFile: f.settings, Split: f.split, Partitions: f.hub.partitions, Shards: f.shards, Mapped: f.mapped,
		Profile: f.faults.profile, Faults: faults, Crashes: r.crashes, Admin: f.faults.admin, Instances: hosts,
		Logger: r.log.logger, HandlerLog: r.log.handlerLine, Notice: notice,
		EndpointsFile: filepath.Join(dir, "endpoints.json"),
	})
	if err != nil {
		return err
	}
	if err := r.log.serving(); err != nil {
		return err
	}
	further := childConfig{
		app: app, endpoints: r.system.Endpoints(), settings: r.system.Settings(), settingsFile: f.settings,
		profile: f.faults.profileName, crashes: f.faults.crashes, instances: hosts, log: r.log,
		clocks: f.clocks, notice: notice, second: f.second,
	}.further(f.instances - 1)
	played := r.foreign.children(r.system, faults, r.log, notice)
	r.children = startChildren(slices.Concat(further, played))
	if err := r.foreign.serving(ctx); err != nil {
		return err
	}
	r.show(d, f, set)
	// Not before everything serves: a system that can't start shows nothing.
	return faults.Set(f.faults.plan)
}

// show tells people what serves where.
func (r *running) show(d *display, f serveFlags, set map[string]string) {
	e := r.system.Endpoints()
	d.note("function app              http://%s", e.HTTP)
	d.note("page for operators        http://%s/api/%s", e.HTTP, page.Path)
	if f.split {
		d.note("backends                  %s", e.BackendsURL())
	}
	for i, address := range r.system.Stamps() {
		d.note("app of shard %d            http://%s", i+2, address)
	}
	d.note("Service Bus, Event Hubs   amqp://%s", e.AMQP)
	d.note("Cosmos DB                 http://%s", e.Cosmos)
	for i, s := range r.foreign.services {
		d.note("%-25s http://%s, played here", s.Name, r.foreign.addresses[i])
	}
	showElsewhere(d, r.system, f.settings)
	d.note("log                       %s", relative(r.log.path))
	f.showTelemetry(d, r.url(), set)
	f.faults.show(d, r.system)
}

// appToRun returns the staged folder that is named, or stages one.
func appToRun(ctx context.Context, d *display, named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	d.note("building the function app")
	begun := time.Now()
	app, err := stageProject(ctx, stage.Options{Target: stage.Local})
	if err != nil {
		return "", err
	}
	d.note("built %s in %.1f s", relative(app), time.Since(begun).Seconds())
	return app, nil
}

// seed makes the sample accounts, or tells why it doesn't.
func (r *running) seed(ctx context.Context, d *display) error {
	if why := noSamples(r.system.Elsewhere(), r.system.AppSettings().Auth.Mode); why != "" {
		d.note("making no sample accounts: %s", why)
		return nil
	}
	if t := chosentrial.Trial(); t != nil {
		return workload.Prepare(ctx, workload.ClientOptions{URL: r.system.Endpoints().BackendsURL()}, t.Before)
	}
	return nil
}

func (r *running) url() string { return "http://" + r.system.Endpoints().HTTP }

func (r *running) wait(ctx context.Context) error { return r.system.Wait(ctx) }

// close stops everything; what goes wrong on the way is in the log. The processes
// beside a system that is broken end with this one, like the rest of it.
func (r *running) close() {
	if r.children != nil && !r.system.Broken() {
		r.children.close()
	}
	var errs []error
	if r.system != nil {
		errs = append(errs, r.system.Close())
	}
	if r.foreign != nil {
		errs = append(errs, r.foreign.close())
	}
	if err := errors.Join(errs...); err != nil {
		r.log.logger.Error("stop", "error", err)
	}
	r.crashes.Close()
	r.log.close()
}

func showFunctions(d *display, title string, functions []host.FunctionInfo) {
	slices.SortFunc(functions, func(a, b host.FunctionInfo) int { return strings.Compare(a.Name, b.Name) })
	d.note("\n%s:", title)
	for _, f := range functions {
		served := f.Source
		if f.Path != "" {
			served = strings.Join(f.Methods, ", ") + " " + f.Path
		}
		d.note("  %-24s %-18s %s", f.Name, f.Trigger, served)
	}
}

// relative shortens a path for people.
func relative(path string) string {
	if wd, err := filepath.Abs("."); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(short, "..") {
			return short
		}
	}
	return path
}
