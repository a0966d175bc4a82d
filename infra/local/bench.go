package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/bench"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// benchFlags say what to measure.
type benchFlags struct {
	config             bench.Config
	samples            string
	seed               uint64
	json               bool
	markdown, profiles string
	svg                string
	hub                hubFlags
	everything         bool
	backends, numbers  string // lists
}

func (f *benchFlags) define(flags *flag.FlagSet) {
	c := &f.config
	flags.IntVar(&c.Rounds, "rounds", 3, "how often to measure each side, in turns, 1 to 100")
	flags.DurationVar(&c.For, "for", 5*time.Second, "how long to measure a side in each round")
	flags.IntVar(&c.Backlog, "backlog", 2000, "how many transactions to accept before running them to completion, 10 to 1000000")
	flags.IntVar(&c.Drain, "drain", 0, "how many transactions the scenario backlog runs to completion (0: all)")
	flags.DurationVar(&c.Latency, "latency", 5*time.Millisecond, "how long a mock backend takes")
	flags.DurationVar(&c.Tail, "tail", 2*time.Second, "how long one call of a hundred takes in the scenario tail")
	flags.IntVar(&c.Viewers, "viewers", 10, "viewers: how many have the operators' page open, 1 to 1000")
	flags.Float64Var(&c.Arrivals, "arrivals", 200, "viewers: requests a second, for as long as -for says: well below what can be completed, 1 to 10000")
	flags.IntVar(&c.Stored, "stored", 1000, "status: how many transactions are stored, 1000 to 10000000")
	flags.DurationVar(&c.Spike, "spike", 10*time.Second, "how long spike and overload last")
	flags.DurationVar(&c.Soak, "soak", time.Hour, "how long soak lasts")
	flags.DurationVar(&c.Settle, "settle", 20*time.Minute, "how long a backlog may take; the scenario backlog stops then")
	f.hub.define(flags)
	flags.StringVar(&f.samples, "samples", "", "JSON `file` with the requests to send, {\"requests\": [...]} (default: the business's usual requests)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the usual requests")
	flags.StringVar(&c.Dir, "dir", "", "`folder` to work in (default .build/bench)")
	flags.StringVar(&f.markdown, "markdown", "", "`file` for the tables, too, with machine and commit; it is written anew after each scenario")
	flags.StringVar(&f.profiles, "profile", "", "`folder` for profiles of runtime and handler, of each measured round: for go tool pprof")
	flags.Float64Var(&c.Compare.Rate, "rate", 100, "compare, checkpoints: requests a second at which latencies are measured, for as long as -for says, 1 to 10000")
	flags.StringVar(&f.backends, "backends", "5ms,50ms,tail", "compare: `list` of how mock backends behave; tail takes 5 ms, but one call of a hundred 2 s")
	flags.StringVar(&f.numbers, "hubs", "4", "compare: `list` of numbers of partitions")
	flags.BoolVar(&f.everything, "all", false, "compare: all of -backends with -hubs 1,4,32")
	flags.StringVar(&f.svg, "svg", "", "compare: `file` for a picture of the latencies")
	flags.BoolVar(&f.json, "json", false, "write JSON, one object a line")
}

func (f *benchFlags) check() error {
	c := f.config
	switch {
	case c.Rounds < 1 || c.Rounds > 100:
		return &usageError{fmt.Sprintf("bench: -rounds %d: use 1 to 100", c.Rounds)}
	case c.Backlog < 10 || c.Backlog > 1_000_000:
		return &usageError{fmt.Sprintf("bench: -backlog %d: use 10 to 1000000", c.Backlog)}
	case c.Viewers < 1 || c.Viewers > 1000:
		return &usageError{fmt.Sprintf("bench: -viewers %d: use 1 to 1000", c.Viewers)}
	case c.Arrivals < 1 || c.Arrivals > 10_000:
		return &usageError{fmt.Sprintf("bench: -arrivals %v: use 1 to 10000", c.Arrivals)}
	case c.Stored < 1000 || c.Stored > 10_000_000:
		return &usageError{fmt.Sprintf("bench: -stored %d: use 1000 to 10000000", c.Stored)}
	case c.Drain < 0:
		return &usageError{fmt.Sprintf("bench: -drain %d: use 0 and more", c.Drain)}
	case min(c.For, c.Spike, c.Soak, c.Settle) < 100*time.Millisecond || min(c.Latency, c.Tail) < 0:
		return &usageError{"bench: a time is too short: use 100ms and more"}
	}
	if err := f.checkCompare(); err != nil {
		return err
	}
	return f.hub.check("bench")
}

// checkCompare reads the lists of the scenario compare.
func (f *benchFlags) checkCompare() error {
	c := &f.config.Compare
	if c.Rate < 1 || c.Rate > 10_000 {
		return &usageError{fmt.Sprintf("bench: -rate %v: use 1 to 10000", c.Rate)}
	}
	if f.everything {
		*c = bench.Everything(c.Rate)
		return nil
	}
	c.Backends, c.Partitions = strings.Split(f.backends, ","), nil
	for _, name := range c.Backends {
		if bench.Backends[name] == nil {
			return &usageError{fmt.Sprintf("bench: -backends: unknown %q: use %s", name, strings.Join(bench.Everything(0).Backends, ", "))}
		}
	}
	for text := range strings.SplitSeq(f.numbers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return &usageError{fmt.Sprintf("bench: -hubs: %q is no number", text)}
		}
		if err := (&hubFlags{n}).check("bench"); err != nil {
			return err
		}
		c.Partitions = append(c.Partitions, n)
	}
	return nil
}

// benchIntro is how the help begins.
func benchIntro() string {
	text := "usage: go run ./infra/local bench SCENARIO... [flags]\n\nSCENARIO is all (every one but soak, backlog, compare, checkpoints, settlement, shards, viewers and status), or some of:\n\n"
	for _, s := range bench.Scenarios() {
		text += fmt.Sprintf("  %-11s %s\n", s[0], s[1])
	}
	return text + "\nflags:\n"
}

// runBench measures scenarios beside their baselines.
func runBench(ctx context.Context, c console) error {
	var names []string
	for len(c.args) > 0 && c.args[0] != "" && c.args[0][0] != '-' {
		names, c.args = append(names, c.args[0]), c.args[1:]
	}
	flags := newFlags("bench")
	f := benchFlags{}
	f.define(flags)
	if err := parse(c, flags, benchIntro()); err != nil {
		return err
	}
	if len(names) == 0 {
		return &usageError{"bench: name what to measure: all, or some of the scenarios in bench -help"}
	}
	names, err := scenariosOf(names)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	d := newDisplay(c.out, f.json)
	if err := f.prepare(ctx, d); err != nil {
		return err
	}
	outcomes, err := f.measure(ctx, d, names)
	if !f.json {
		err = errors.Join(err, bench.WriteMarkdown(c.out, outcomes))
	}
	return errors.Join(err, broken(outcomes))
}

// measure runs the scenarios. One that fails leaves the others be: a long run is
// worth what it has measured.
func (f *benchFlags) measure(ctx context.Context, d *display, names []string) (outcomes []*bench.Outcome, err error) {
	begun := time.Now()
	for _, name := range names {
		o, failed := bench.Run(ctx, f.config, name)
		if failed != nil {
			d.note("%v", failed)
			err = errors.Join(err, failed)
			if ctx.Err() != nil {
				return outcomes, err
			}
			continue
		}
		if f.json {
			d.object(o)
		}
		outcomes = append(outcomes, o)
		if failed := f.write(ctx, begun, names, outcomes); failed != nil {
			return outcomes, errors.Join(err, failed)
		}
	}
	return outcomes, err
}

// write writes what has been measured so far into the file of -markdown.
func (f *benchFlags) write(ctx context.Context, begun time.Time, names []string, outcomes []*bench.Outcome) error {
	if err := f.draw(outcomes); err != nil || f.markdown == "" {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "`bench %s -rounds %d -for %v -backlog %d -spike %v`, %s: %d cores, %s %s/%s, %s; %d of %d scenarios in %.0f min.\n",
		strings.Join(names, " "), f.config.Rounds, f.config.For, f.config.Backlog, f.config.Spike, begun.UTC().Format("2006-01-02 15:04 MST"),
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit(ctx), len(outcomes), len(names), time.Since(begun).Minutes())
	if err := bench.WriteMarkdown(&b, outcomes); err != nil {
		return err
	}
	return os.WriteFile(f.markdown, b.Bytes(), 0o644)
}

// draw writes the picture of -svg.
func (f *benchFlags) draw(outcomes []*bench.Outcome) error {
	if f.svg == "" {
		return nil
	}
	var b bytes.Buffer
	if err := bench.WriteSVG(&b, outcomes); err != nil {
		return err
	}
	return os.WriteFile(f.svg, b.Bytes(), 0o644)
}

// commit names what is measured: go run records no commit in what it builds.
func commit(ctx context.Context) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	id, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "no commit"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		return "commit " + id + " with changes"
	}
	return "commit " + id
}

// scenariosOf returns what to measure, without what is named twice.
func scenariosOf(words []string) (names []string, err error) {
	var known []string
	for _, s := range bench.Scenarios() {
		known = append(known, s[0])
	}
	for _, word := range words {
		these := []string{word}
		if word == "all" {
			these = bench.All()
		}
		for _, name := range these {
			if !slices.Contains(known, name) {
				return nil, &usageError{fmt.Sprintf("bench: unknown scenario %q; see bench -help", name)}
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// prepare stages the app into the folder of the run.
func (f *benchFlags) prepare(ctx context.Context, d *display) error {
	var err error
	if f.config.Samples, err = samples(f.samples, f.seed); err != nil {
		return &usageError{"bench: -samples: " + err.Error()}
	}
	f.config.Business = chosen.Business()
	f.config.Notice = func(text string) { d.note("%s", text) }
	if f.profiles != "" {
		if f.profiles, err = filepath.Abs(f.profiles); err != nil {
			return err
		}
	}
	f.config.Starter, err = starter(ctx, f.config.Dir, "bench", f.profiles, f.hub, d)
	return err
}

// starter stages the app below a folder, by default the one of that name in .build,
// and returns what starts it there as a process of its own. profiles is the folder for
// its profiles, "" for none.
func starter(ctx context.Context, dir, name, profiles string, hub hubFlags, d *display) (bench.Starter, error) {
	if dir == "" {
		project, err := stage.FindProject(".")
		if err != nil {
			return bench.Starter{}, err
		}
		dir = filepath.Join(project, ".build", name)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return bench.Starter{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return bench.Starter{}, err
	}
	d.note("building the function app")
	app, err := stageProject(ctx, stage.Options{Target: stage.Local, Out: filepath.Join(dir, "app"), Profile: profiles != ""})
	return bench.Starter{Command: []string{self}, App: app, Dir: dir, Partitions: hub.partitions, Profiles: profiles}, err
}

// broken is the error for promises that did not hold. A target that is missed is
// none: another machine may reach it.
func broken(outcomes []*bench.Outcome) error {
	var errs []error
	for _, o := range outcomes {
		for _, check := range o.Checks {
			if check.Lost {
				errs = append(errs, fmt.Errorf("%s: %s: %s", o.Scenario, check.What, check.Got))
			}
		}
	}
	return errors.Join(errs...)
}
