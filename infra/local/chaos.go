package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/chaos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// chaosFlags are the flags of chaos.
type chaosFlags struct {
	requests, instances, treeKills   int
	shards                           int
	seed                             uint64
	duration, encore, settle, clocks time.Duration
	faults, scheduler, dir, samples  string
	crashes, keep, json              bool
}

// usualFaults are all; acts more often than usual, since each time that the
// tree is killed their pauses begin anew, and since a handler reads at its start
// where it is to die next; and more transactions that can't be undone, so that
// some are Stuck.
const usualFaults = "all,eventhubs.recreated=4,handler.kill=12,host.stop=6,host.stopinretry=6,host.ownership=10,backend.undorefused=0.05"

func (f *chaosFlags) define(flags *flag.FlagSet) {
	flags.IntVar(&f.requests, "requests", 1500, "requests to send, 20 to 100000; repeats and malformed ones come on top")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the requests, the faults and the kills")
	flags.DurationVar(&f.duration, "duration", 45*time.Second, "how long to send requests and inject faults, 1s to 1h")
	flags.DurationVar(&f.encore, "encore", chaos.UsualEncore, "how long to extend a run that has seen too little to prove anything, 0s to 1h")
	flags.StringVar(&f.faults, "faults", usualFaults, "what to break: all, none, or words such as cosmos,servicebus.busy=0.3,-amqp.drop")
	flags.StringVar(&f.scheduler, "scheduler", string(settings.SchedulerQueue), "`mode` in which the handlers work off the hub: queue, stream or batch")
	flags.IntVar(&f.instances, "instances", 2, "instances of the function app, 1 to 16, each with its own handler")
	flags.IntVar(&f.shards, "shards", 1, fmt.Sprintf("shards, 1 to %d: callers move between them, from 3 on one is added and one closed in the middle", chaos.MostShards))
	flags.IntVar(&f.treeKills, "tree-kills", 1, "how often to kill -9 the whole tree of processes and restart it, 0 to 20")
	flags.DurationVar(&f.clocks, "clocks-apart", 4*time.Second, "how far apart the clocks of the instances are, 0s to 4s")
	flags.BoolVar(&f.crashes, "crash-points", true, "kill handlers at their effects: before the effect is done, or before it is answered")
	flags.DurationVar(&f.settle, "settle", 5*time.Minute, "how long the system may take to come to rest after the faults, 1s to 1h")
	flags.BoolVar(&f.json, "json", false, "write JSON, one object a line, the report last")
	flags.StringVar(&f.dir, "dir", "", "`folder` to work in, empty or from an earlier run (default .build/chaos)")
	flags.StringVar(&f.samples, "samples", "", samplesUsage)
	flags.BoolVar(&f.keep, "keep", false, "keep the data even if nothing is broken")
}

// What is slow, or late, takes that much of the run's duration, and slowest at
// most: what is late is waited for in the end.
const (
	slowest  = 2 * time.Second
	slowPart = 10
)

// line is the command line that repeats the run: all flags but those that say
// where it works and what it leaves and shows.
func (f *chaosFlags) line() string {
	line := fmt.Sprintf("go run ./infra/local chaos -requests %d -seed %d -duration %v -encore %v -faults '%s' -scheduler %s -instances %d -shards %d -tree-kills %d -clocks-apart %v -crash-points=%t -settle %v",
		f.requests, f.seed, f.duration, f.encore, f.faults, f.scheduler, f.instances, f.shards, f.treeKills, f.clocks, f.crashes, f.settle)
	if f.samples != "" {
		line += fmt.Sprintf(" -samples '%s'", f.samples)
	}
	return line
}

// runChaos proves the promises under faults.
func runChaos(ctx context.Context, c console) error {
	flags := newFlags("chaos")
	var f chaosFlags
	f.define(flags)
	if err := parse(c, flags); err != nil {
		return err
	}
	d := newDisplay(c.out, f.json)
	config, err := f.config(d)
	if err != nil {
		return &usageError{"chaos: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	report, err := chaos.Run(ctx, config)
	if err != nil {
		return err
	}
	return showReport(c, d, report)
}

// config is what the flags ask for. The error is a mistake in them.
func (f *chaosFlags) config(d *display) (chaos.Config, error) {
	plan, err := parseFaults(f.faults, f.seed)
	if err != nil {
		return chaos.Config{}, err
	}
	if f.scheduler != string(settings.SchedulerQueue) { // see chaos.Config, which has no bound for it then
		delete(plan.Rates, fault.EventHubsRecreated)
	}
	plan.SlowSeconds = min(slowest, f.duration/slowPart).Seconds()
	dir := f.dir
	if dir == "" {
		project, err := stage.FindProject(".")
		if err != nil {
			return chaos.Config{}, err
		}
		dir = filepath.Join(project, ".build", "chaos")
	}
	self, err := os.Executable()
	if err != nil {
		return chaos.Config{}, err
	}
	var built bytes.Buffer
	if err := version(&built); err != nil {
		return chaos.Config{}, err
	}
	t, subject, err := trialOf(f.samples)
	if err != nil {
		return chaos.Config{}, err
	}
	config := chaos.Config{
		Command: []string{self, "serve"}, Business: chosen.Business(), Trial: t, Subject: subject, Dir: dir, CrashPoints: f.crashes,
		Stage: func(ctx context.Context, out string) error {
			_, err := stageProject(ctx, stage.Options{Target: stage.Local, Out: out})
			return err
		},
		Requests: f.requests, Seed: f.seed, Duration: f.duration, Faults: plan,
		Instances: f.instances, Shards: f.shards, Scheduler: settings.SchedulerMode(f.scheduler), TreeKills: f.treeKills, Encore: f.encore, Clocks: f.clocks, Settle: f.settle, Keep: f.keep,
		Version: strings.TrimSpace(built.String()), Line: f.line(),
		Notice: func(text string) { d.note("%s", text) }, Progress: d.chaos,
	}
	return config, config.Validate()
}

// showReport ends with the report, and with an error if a promise is broken or
// nothing is proved.
func showReport(c console, d *display, r *chaos.Report) error {
	if d.json {
		d.object(map[string]*chaos.Report{"report": r})
	} else if err := r.WriteText(c.out); err != nil {
		return err
	}
	if r.OK() {
		return nil
	}
	if r.Kept() {
		var below []string
		for _, b := range r.Below() {
			below = append(below, fmt.Sprintf("%s: wanted %d, seen %d", b.Name, b.Wanted, b.Seen))
		}
		return fmt.Errorf("the run proves nothing, too little happened: %s; the data is kept: serve -data %s",
			strings.Join(below, "; "), relative(r.Data))
	}
	return fmt.Errorf("a promise is broken; the data is kept: serve -data %s, and the logs are in %s",
		relative(r.Data), relative(filepath.Dir(r.Data)))
}

// chaos shows how far a run is.
func (d *display) chaos(s chaos.Status) {
	if d.json {
		d.object(s)
		return
	}
	line := fmt.Sprintf("sent %d, accepted %d; handlers died at %d crash points", s.Sent, s.Accepted, s.Covered)
	if s.Phase == chaos.Settling {
		line = fmt.Sprintf("%d transactions are open", s.Open)
	}
	if line == d.last {
		return
	}
	d.last = line
	fmt.Fprintln(d.out, line)
}
