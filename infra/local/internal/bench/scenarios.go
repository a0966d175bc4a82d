package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/baseline"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

// clients is how many connections send at once, where it is as fast as they can.
const clients = 64

// acceptingAlone are settings with which nothing becomes of what is accepted: Relay
// doesn't hand it on, and Sweep doesn't stand in for Relay.
var acceptingAlone = map[string]string{"AzureWebJobs.Relay.Disabled": "true", "AzureWebJobs.Sweep.Disabled": "true"}

// ingest compares accepting alone, to a durable hub, with a proxy before a mux.
func (b *bench) ingest(ctx context.Context) (o *Outcome, err error) {
	app, err := b.Serve(ctx, acceptingAlone)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	mux, err := b.Baseline(ctx, "mux", "-resource", b.Samples.Resource)
	if err != nil {
		return nil, err
	}
	defer closing(mux, &err)
	proxy, err := b.Baseline(ctx, "proxy", "-to", mux.URL)
	if err != nil {
		return nil, err
	}
	defer closing(proxy, &err)
	return b.accepting(ctx, Comparison{
		Item: "accepted", Ours: "through the host", Base: "one proxy hop", Scope: "runtime and handler ÷ proxy and mux",
	}, app, app.URL, scope{roots: []int{app.Pid()}}, proxy.URL, scope{roots: []int{proxy.Pid(), mux.Pid()}})
}

// handler is ingest without the host, and without the proxy.
func (b *bench) handler(ctx context.Context) (o *Outcome, err error) {
	app, err := b.Serve(ctx, acceptingAlone)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	handler, url, err := handlerOf(app.Pid())
	if err != nil {
		return nil, err
	}
	mux, err := b.Baseline(ctx, "mux", "-resource", b.Samples.Resource)
	if err != nil {
		return nil, err
	}
	defer closing(mux, &err)
	return b.accepting(ctx, Comparison{
		Item: "accepted", Ours: "at the handler", Base: "bare mux", Scope: "handler ÷ mux, without the emulators",
	}, app, url, scope{roots: []int{handler}, alone: true}, mux.URL, scope{roots: []int{mux.Pid()}})
}

// portVariable tells a handler where to listen.
const portVariable = "FUNCTIONS_CUSTOMHANDLER_PORT"

// handlerOf returns the process of the handler below a runtime, and its URL.
func handlerOf(runtime int) (pid int, url string, err error) {
	processes, err := meter.Tree(runtime)
	if err != nil {
		return 0, "", err
	}
	for _, p := range processes {
		env, err := meter.Environment(p.PID)
		if err != nil {
			return 0, "", err
		}
		for _, pair := range env {
			if name, port, _ := strings.Cut(pair, "="); name == portVariable && p.PID != runtime {
				return p.PID, "http://127.0.0.1:" + port, nil
			}
		}
	}
	return 0, "", errors.New("the runtime has no handler")
}

// accepting compares how fast two URLs accept the samples; the first is of the app,
// or of its handler.
func (b *bench) accepting(ctx context.Context, c Comparison, app *Process, ours string, oursScope scope, base string, baseScope scope) (*Outcome, error) {
	posting := func(url string, s scope) (side, *load.Client) {
		client := load.NewClient(url+"/api/"+b.Samples.Resource, clients, b.Samples.Body, nil)
		return side{scope: s, run: func(ctx context.Context) (int, error) {
			return accepted(load.Full(ctx, clients, 0, b.For, client.Send))
		}}, client
	}
	oursSide, oursClient := posting(ours, oursScope)
	defer oursClient.Close()
	var err error
	if oursSide.profiled, err = b.profiled(app); err != nil {
		return nil, err
	}
	baseSide, baseClient := posting(base, baseScope)
	defer baseClient.Close()
	c, err = b.compare(ctx, c, oursSide, baseSide)
	return &Outcome{Comparisons: []Comparison{c}}, err
}

// accepted returns how many requests were accepted, if none failed.
func accepted(r *load.Result) (int, error) {
	if r.Failed > 0 {
		return 0, fmt.Errorf("%d of %d requests failed, the first with: %s", r.Failed, r.Offered, r.Failure)
	}
	return r.Accepted, nil
}

func (b *bench) workflow(ctx context.Context) (*Outcome, error) {
	return b.mocked(ctx, nil, "-latency", b.Latency.String())
}

// tailShare is the part of the calls that takes long in the scenario tail.
const tailShare = 0.01

// tail lets no call time out that takes long: it is to be slow, not to fail.
func (b *bench) tail(ctx context.Context) (*Outcome, error) {
	return b.mocked(ctx, map[string]string{"CALL_TIMEOUT_SECONDS": strconv.FormatFloat(2*b.Tail.Seconds(), 'f', -1, 64)},
		"-latency", b.Latency.String(), "-tail", b.Tail.String(), "-share", strconv.FormatFloat(tailShare, 'f', -1, 64))
}

// mocked compares a backlog over mock backends with a loop over the same.
func (b *bench) mocked(ctx context.Context, settings map[string]string, mockFlags ...string) (o *Outcome, err error) {
	mock, err := b.mock(ctx, mockFlags...)
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	set := b.Samples.Mocked(mock.URL)
	maps.Copy(set, settings)
	app, err := b.Serve(ctx, set)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	return b.completing(ctx, Comparison{
		Item: "completed", Ours: "workflow", Base: "bare loop", Scope: "runtime and handler ÷ loop, without the mock backends",
	}, app, mock, nil)
}

// whole compares a backlog over the app's own backends with a loop over mock ones
// that answer at once.
func (b *bench) whole(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, "-latency", "0s")
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	app, err := b.serveWhole(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	return b.completing(ctx, Comparison{
		Item: "completed", Ours: "whole", Base: "bare loop", Scope: "runtime and handler with its backends ÷ loop and mock backends",
	}, app, mock, []int{mock.Pid()})
}

// serveWhole serves the app with its own backends.
func (b *bench) serveWhole(ctx context.Context) (*Process, error) {
	app, err := b.Serve(ctx, b.Samples.Settings)
	if err != nil || b.Samples.Before == nil {
		return app, err
	}
	if err := b.Samples.Before(ctx, app.URL); err != nil {
		return nil, errors.Join(err, app.Close())
	}
	return app, nil
}

// mock starts mock backends.
func (b *bench) mock(ctx context.Context, flags ...string) (*Process, error) {
	answers, err := json.Marshal(b.Samples.Answers)
	if err != nil {
		return nil, err
	}
	return b.Baseline(ctx, "mock", append(flags, "-answers", string(answers))...)
}

// completing compares a backlog of the app with a loop over mock backends. besides
// are processes in the loop's scope.
func (b *bench) completing(ctx context.Context, c Comparison, app, mock *Process, besides []int) (o *Outcome, err error) {
	loop, err := b.Baseline(ctx, "loop", "-to", mock.URL, "-steps", strings.Join(b.Samples.Steps, ","), "-body", string(b.Samples.Body(0)))
	if err != nil {
		return nil, err
	}
	defer closing(loop, &err)
	client := load.NewClient(app.URL+"/api/"+b.Samples.Resource, clients, b.Samples.Body, nil)
	defer client.Close()
	sent := 0
	ours := side{
		scope: scope{roots: []int{app.Pid()}},
		before: func(ctx context.Context) error {
			from := sent // no request is like one of another round
			sent += b.Backlog
			r := load.Full(ctx, clients, b.Backlog, 0, func(ctx context.Context, n int) load.Answer { return client.Send(ctx, from+n) })
			_, err := accepted(r)
			return err
		},
		run: func(ctx context.Context) (int, error) { return b.drain(ctx, app) },
	}
	if ours.profiled, err = b.profiled(app); err != nil {
		return nil, err
	}
	base := side{scope: scope{roots: append([]int{loop.Pid()}, besides...)}, run: func(ctx context.Context) (int, error) { return b.loop(ctx, loop) }}
	c, err = b.compare(ctx, c, ours, base)
	return &Outcome{Comparisons: []Comparison{c}}, err
}

// look is how often a backlog is looked at.
const look = 200 * time.Millisecond

// drain waits until nothing that was accepted is left to be done, and returns how
// much has ended meanwhile.
func (b *bench) drain(ctx context.Context, app *Process) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.Settle, fmt.Errorf("some transactions did not end within %v", b.Settle))
	defer cancel()
	before, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return 0, err
	}
	now := before
	err = watching(ctx, app, func(counts load.Counts) bool {
		now = counts
		return now.Backlog() <= 0
	})
	if err != nil {
		return 0, fmt.Errorf("%d wait: %w", now.Backlog(), err)
	}
	return int(now.Ended - before.Ended), nil
}

// watching looks at what an app has counted until that is enough.
func watching(ctx context.Context, app *Process, enough func(load.Counts) bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		now, err := load.Scrape(ctx, app.URL)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if enough(now) {
			return nil
		}
		select {
		case <-tick.C:
		case <-app.Failed():
			return app.Ended()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// loop has a bare loop run and returns how many transactions it has done.
func (b *bench) loop(ctx context.Context, loop *Process) (int, error) {
	var done baseline.Done
	err := ask(ctx, http.MethodPost, loop.URL+"/?for="+b.For.String(), &done)
	return done.Done, err
}

// ask calls a server of a baseline and reads its answer.
func ask(ctx context.Context, method, url string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s: status %d: %s", url, resp.StatusCode, text), err)
	}
	return json.Unmarshal(text, answer)
}

// closing ends a process; its error joins the one of the scenario.
func closing(p *Process, err *error) { *err = errors.Join(*err, p.Close()) }
