package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/auth"
)

// loadTokenVariable has the token of a client. Other processes of this machine can
// see what is on a command line.
const loadTokenVariable = "LOAD_TOKEN"

// loadFlags say what to offer, and to whom.
type loadFlags struct {
	rate, url, samples, dir string
	shape                   load.Shape
	seed                    uint64
	inFlight                int
	hub                     hubFlags
	settle                  time.Duration
	json                    bool
}

func (f *loadFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.rate, "rate", "20:5s,20-100:10s,100:10s", "requests a second: `stages` such as 200:10s (a step) or 200-1000:30s (a ramp), separated by commas")
	flags.StringVar(&f.url, "url", "", "`URL` of an app that runs (default: serve it here, in processes of its own); "+loadTokenVariable+" is the client's token")
	flags.StringVar(&f.samples, "samples", "", "JSON `file` with the requests to send, {\"requests\": [...]} (default: the business's usual requests)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the usual requests")
	flags.IntVar(&f.inFlight, "in-flight", 8192, "how many requests may be unanswered at once, 1 to 100000; others are sent late")
	f.hub.define(flags)
	flags.DurationVar(&f.settle, "settle", time.Minute, "how long to wait until every accepted transaction has ended")
	flags.StringVar(&f.dir, "dir", "", "`folder` for the plots, and to work in (default .build/load)")
	flags.BoolVar(&f.json, "json", false, "write JSON, one object a line, the report last")
}

func (f *loadFlags) check() (err error) {
	if f.shape, err = load.ParseShape(f.rate); err != nil {
		return &usageError{"load: -rate: " + err.Error()}
	}
	if f.inFlight < 1 || f.inFlight > 100_000 {
		return &usageError{fmt.Sprintf("load: -in-flight %d: use 1 to 100000", f.inFlight)}
	}
	if f.settle < 0 {
		return &usageError{fmt.Sprintf("load: -settle %v: a time can't be negative", f.settle)}
	}
	return f.hub.check("load")
}

// runLoad offers requests to an app and reports what clients saw.
func runLoad(ctx context.Context, c console) (err error) {
	flags := newFlags("load")
	var f loadFlags
	f.define(flags)
	if err := parse(c, flags); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	samples, err := samples(f.samples, f.seed)
	if err != nil {
		return &usageError{"load: -samples: " + err.Error()}
	}
	d := newDisplay(c.out, f.json)
	app, err := f.target(ctx, d, samples)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.close()) }()
	client := load.NewClient(app.url+"/api/"+samples.Resource, f.inFlight, samples.Body, app.header)
	defer client.Close()
	d.note("offering %d requests in %v", f.shape.Count(), f.shape.Duration())
	before := app.state(ctx)
	if !before.Known {
		d.note("the app shows no metrics: how many wait, and what each takes, is not known")
	}
	result := load.Run(ctx, load.Config{
		Shape: f.shape, Send: client.Send, InFlight: f.inFlight, State: app.state, Progress: d.load,
		After: f.after(before), Rested: func(s load.State) bool { return s.Known && s.Counts.Backlog() <= 0 },
	})
	report := load.NewReport(app.name, f.rate, before, result, app.names)
	if f.json {
		d.object(map[string]any{"report": report})
	} else if err := report.WriteText(c.out); err != nil {
		return err
	}
	return errors.Join(f.plot(d, result), ctx.Err())
}

// after is how long to look on when all is answered: not at all where nobody can
// see when it has ended.
func (f *loadFlags) after(s load.State) time.Duration {
	if !s.Known {
		return 0
	}
	return f.settle
}

// loadTarget is the app under load.
type loadTarget struct {
	url, name string
	header    func(context.Context) (http.Header, error)
	state     func(context.Context) load.State
	names     map[int]string // of processes
	close     func() error
}

// target is the app that is named, or one that is served here.
func (f *loadFlags) target(ctx context.Context, d *display, s load.Samples) (*loadTarget, error) {
	if f.url != "" {
		return f.remote()
	}
	starter, err := starter(ctx, f.dir, "load", "", f.hub, d)
	if err != nil {
		return nil, err
	}
	d.note("starting the services and the function app")
	app, err := starter.Serve(ctx, s.Settings)
	if err != nil {
		return nil, err
	}
	if s.Before != nil {
		if err := s.Before(ctx, app.URL); err != nil {
			return nil, errors.Join(err, app.Close())
		}
	}
	return &loadTarget{url: app.URL, name: "the local runtime", state: app.State, names: app.Names(), close: app.Close}, nil
}

// remote is the app at the URL. A token goes over https, or to this machine, only.
func (f *loadFlags) remote() (*loadTarget, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &usageError{fmt.Sprintf("load: -url %q is not a URL of an app; use http://host:port or https://host", f.url)}
	}
	base := strings.TrimSuffix(strings.TrimRight(f.url, "/"), "/api")
	t := &loadTarget{url: base, name: base, close: func() error { return nil }}
	t.state = func(ctx context.Context) load.State {
		counts, err := load.Scrape(ctx, base)
		return load.State{Counts: counts, Known: err == nil}
	}
	if token := os.Getenv(loadTokenVariable); token != "" {
		if !auth.SafeAddress(u) {
			return nil, &usageError{fmt.Sprintf("load: -url %q: anyone on the way could read the token; use https", f.url)}
		}
		t.header = func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		}
	}
	return t, nil
}

// plot writes the plots into the folder of the run.
func (f *loadFlags) plot(d *display, r *load.Result) error {
	dir := f.dir
	if dir == "" {
		dir = filepath.Join(".build", "load")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	latency, backlog := r.Plots()
	for name, plot := range map[string]load.Plot{"latency.svg": latency, "backlog.svg": backlog} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := errors.Join(plot.WriteSVG(file), file.Close()); err != nil {
			return err
		}
	}
	d.note("\nplots: %s, %s", relative(filepath.Join(dir, "latency.svg")), relative(filepath.Join(dir, "backlog.svg")))
	return nil
}

// load shows a second of a load.
func (d *display) load(p load.Point) {
	if d.json {
		d.object(p)
		return
	}
	line := fmt.Sprintf("%4d s  ", p.Second+1)
	if p.Offered > 0 {
		line += fmt.Sprintf("offered %d, accepted %d, refused %d, failed %d; p50 %v, p99 %v; ",
			p.Offered, p.Accepted, p.Refused, p.Failed, p.Latency.P50.Round(100*time.Microsecond), p.Latency.P99.Round(100*time.Microsecond))
	}
	if p.State.Known {
		line += fmt.Sprintf("%d wait", p.State.Counts.Backlog())
	}
	fmt.Fprintln(d.out, line)
}
