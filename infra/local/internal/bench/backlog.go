package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

// The targets for what waits on disk: a million transactions.
const (
	runtimeMemory = 1 << 30
	handlerMemory = 256 << 20
)

// schedulingOff lets what is accepted wait in the queue. As in Azure, a setting
// switches a function off (Microsoft Learn, "How to disable functions in Azure
// Functions").
var schedulingOff = map[string]string{"AzureWebJobs.Schedule.Disabled": "true"}

// Memory is what a stage of the scenario backlog took. Memory is in bytes.
type Memory struct {
	Stage   string        `json:"stage"`
	Done    int           `json:"done"` // transactions
	Took    time.Duration `json:"tookNanoseconds"`
	Runtime Resident      `json:"runtime"`
	Handler Resident      `json:"handler"`
}

// Resident is the resident memory of a process: at the end of a stage, and at most
// within it.
type Resident struct {
	Now  int64 `json:"now"`
	Peak int64 `json:"peak"`
}

// watched are the processes whose memory is measured, and what was measured.
type watched struct {
	app     *Process
	handler int
	begun   time.Time
	o       *Outcome
	notice  func(string)
}

// watch watches an app that has just started: its start was the first stage.
func (b *bench) watch(app *Process, begun time.Time, o *Outcome, stage string, done int) (*watched, error) {
	handler, _, err := handlerOf(app.Pid())
	if err != nil {
		return nil, err
	}
	w := &watched{app: app, handler: handler, begun: begun, o: o, notice: b.Notice}
	return w, w.ended(stage, done)
}

// ended ends a stage, in which so many transactions were dealt with, and begins the
// next.
func (w *watched) ended(stage string, done int) error {
	m := Memory{Stage: stage, Done: done, Took: time.Since(w.begun)}
	var errs []error
	for pid, of := range map[int]*Resident{w.app.Pid(): &m.Runtime, w.handler: &m.Handler} {
		var err error
		of.Now, of.Peak, err = meter.Resident(pid)
		errs = append(errs, err, meter.ForgetPeak(pid))
	}
	w.begun = time.Now()
	w.o.Memory = append(w.o.Memory, m)
	w.notice(fmt.Sprintf("  %s: %d in %.0f s, memory of the runtime %s MB (at most %s), of the handler %s MB (at most %s)", stage, done,
		m.Took.Seconds(), megabytes(m.Runtime.Now), megabytes(m.Runtime.Peak), megabytes(m.Handler.Now), megabytes(m.Handler.Peak)))
	return errors.Join(errs...)
}

// backlog accepts while nothing is scheduled, starts the app again with what waits on
// disk, and runs it, to see how much memory all that takes.
func (b *bench) backlog(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, "-latency", "0s")
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	o = &Outcome{}
	ids, err := b.accumulate(ctx, mock, o)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	app, err := b.Resume(ctx, b.Samples.Mocked(mock.URL))
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	w, err := b.watch(app, begun, o, "started again", len(ids))
	if err != nil {
		return nil, err
	}
	wanted := len(ids)
	if b.Drain > 0 {
		wanted = min(wanted, b.Drain)
	}
	done, err := b.drainSome(ctx, app, wanted)
	if err != nil {
		return nil, err
	}
	if err := w.ended("drained", done); err != nil {
		return nil, err
	}
	o.Checks = append(o.Checks, memoryChecks(o.Memory)...)
	o.Checks = append(o.Checks, Check{
		What: fmt.Sprintf("came to their end of %d accepted, within %v", len(ids), b.Settle), Want: fmt.Sprint(wanted), Got: fmt.Sprint(done), Met: done >= wanted,
	})
	if done < len(ids) {
		return o, nil // the others wait, and are no loss
	}
	s := b.stream(app)
	defer s.client.Close()
	return o, s.lost(ctx, o, ids)
}

// accumulate accepts a backlog while nothing is scheduled, and stops the app when
// all of it waits in the queue.
func (b *bench) accumulate(ctx context.Context, mock *Process, o *Outcome) (ids []string, err error) {
	settings := b.Samples.Mocked(mock.URL)
	for name, value := range schedulingOff {
		settings[name] = value
	}
	begun := time.Now()
	app, err := b.Serve(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	w, err := b.watch(app, begun, o, "empty", 0)
	if err != nil {
		return nil, err
	}
	s := b.stream(app)
	defer s.client.Close()
	ids = make([]string, b.Backlog)
	send := s.send(b.Backlog)
	r := load.Full(ctx, clients, b.Backlog, 0, func(ctx context.Context, n int) load.Answer {
		answer := send(ctx, n)
		ids[n] = answer.ID
		return answer
	})
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	o.Checks = append(o.Checks, allAccepted("refused or failed", r))
	if len(ids) == 0 {
		return nil, errNothing
	}
	if err := w.ended("accepted", len(ids)); err != nil {
		return nil, err
	}
	if err := relayed(ctx, app); err != nil {
		return nil, err
	}
	return ids, w.ended("waiting in the queue", len(ids))
}

// relayRests is for how long Relay is not called when it has handed on everything.
const relayRests = 3 * time.Second

// relayed waits until Relay has handed on what was accepted.
func relayed(ctx context.Context, app *Process) error {
	calls, since := -1.0, time.Now()
	return watching(ctx, app, func(now load.Counts) bool {
		if n := now.Invocations["Relay"]; n != calls {
			calls, since = n, time.Now()
		}
		return calls > 0 && time.Since(since) >= relayRests
	})
}

// tell is how often people are told how far a long backlog is.
const tell = 10 * time.Second

// drainSome waits until so many transactions have ended since the app's start, or
// until the time that a backlog may take is over, and returns how many have.
func (b *bench) drainSome(ctx context.Context, app *Process, wanted int) (done int, err error) {
	begun, told := time.Now(), time.Now()
	err = watching(ctx, app, func(now load.Counts) bool {
		done = int(now.Ended)
		took := time.Since(begun)
		if time.Since(told) >= tell {
			told = time.Now()
			b.Notice(fmt.Sprintf("  drained %d of %d, %.0f/s", done, wanted, float64(done)/took.Seconds()))
		}
		return done >= wanted || took >= b.Settle
	})
	return done, err
}

// memoryChecks compare the largest peaks with the targets.
func memoryChecks(stages []Memory) []Check {
	var runtime, handler int64
	for _, m := range stages {
		runtime, handler = max(runtime, m.Runtime.Peak), max(handler, m.Handler.Peak)
	}
	check := func(what string, peak, target int64) Check {
		return Check{What: "most memory of the " + what, Want: "<= " + megabytes(target) + " MB", Got: megabytes(peak) + " MB", Met: peak <= target}
	}
	return []Check{check("runtime", runtime, runtimeMemory), check("handler", handler, handlerMemory)}
}
