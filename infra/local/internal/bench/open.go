package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/simulate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The targets under load.
const (
	spikeTimes     = 5   // the completion rate
	spikeMost      = 0.7 // of what can be accepted
	overloadTimes  = 1.5 // what can be accepted
	soakPart       = 0.5 // of the completion rate
	latencyTarget  = 500 * time.Millisecond
	refusalTarget  = 250 * time.Millisecond
	recoveryTarget = 5 // seconds
	afterwards     = 10 * time.Second

	// connections is how many are open at once, at most: more than the events that the
	// writer buffers (WRITER_BUFFER_EVENTS), or else no overload would ever fill it.
	connections = 8192
	// crowd is how many clients find out what can be accepted: batches are larger the
	// more of them wait.
	crowd = 512
)

// capacity is what an app can do.
type capacity struct{ accept, complete float64 } // a second

// probe measures what the app can do with a backlog: how fast it is accepted while
// the rest runs, and how fast it is completed then.
func (b *bench) probe(ctx context.Context, app *Process, s *stream) (capacity, error) {
	if _, err := s.full(ctx, crowd, b.Backlog); err != nil { // which warms it up
		return capacity{}, err
	}
	if _, err := b.drain(ctx, app); err != nil {
		return capacity{}, err
	}
	begun := time.Now()
	taken, err := s.full(ctx, crowd, b.Backlog)
	if err != nil {
		return capacity{}, err
	}
	accepting := time.Since(begun)
	begun = time.Now()
	done, err := b.drain(ctx, app)
	if err != nil {
		return capacity{}, err
	}
	c := capacity{float64(taken) / accepting.Seconds(), float64(max(1, done)) / time.Since(begun).Seconds()}
	b.Notice(fmt.Sprintf("  accepts %.0f/s, completes %.0f/s", c.accept, c.complete))
	return c, nil
}

// stream sends requests to an app, none like another.
type stream struct {
	b      *bench
	app    *Process
	client *load.Client
	sent   int
	names  map[int]string // of processes
	first  load.State     // before the first load
}

func (b *bench) stream(app *Process) *stream {
	return &stream{b: b, app: app, client: load.NewClient(app.URL+"/api/"+b.Samples.Resource, connections, b.Samples.Body, nil), names: app.Names()}
}

func (s *stream) send(count int) load.Send {
	from := s.sent
	s.sent += count
	return func(ctx context.Context, n int) load.Answer { return s.client.Send(ctx, from+n) }
}

// full sends n requests as fast as the app answers, and returns how many were accepted.
func (s *stream) full(ctx context.Context, clients, n int) (int, error) {
	return accepted(load.Full(ctx, clients, n, 0, s.send(n)))
}

// offer offers a rate for a time and reports what came of it.
func (s *stream) offer(ctx context.Context, o *Outcome, what string, rate float64, lasts time.Duration) *load.Result {
	shape := load.Shape{{From: rate, To: rate, For: lasts}}
	before := s.app.State(ctx)
	if len(o.Loads) == 0 {
		s.first = before
	}
	r := load.Run(ctx, load.Config{Shape: shape, Send: s.send(shape.Count()), State: s.app.State, KeepIDs: true})
	report := load.NewReport(what, fmt.Sprintf("%.0f/s for %v", rate, lasts), before, r, s.names)
	report.Counts = nil // not before all has ended: see settled
	o.Loads = append(o.Loads, report)
	s.b.Notice(fmt.Sprintf("  %s, %.0f/s: %d accepted, %d refused, %d failed, p99 %v", what, rate, r.Accepted, r.Refused, r.Failed, r.Latency.P99.Round(time.Millisecond)))
	return r
}

// spike absorbs a burst that is completed later.
func (b *bench) spike(ctx context.Context) (o *Outcome, err error) {
	app, err := b.serveWhole(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	s := b.stream(app)
	defer s.client.Close()
	c, err := b.probe(ctx, app, s)
	if err != nil {
		return nil, err
	}
	o = &Outcome{}
	rate := min(spikeTimes*c.complete, spikeMost*c.accept)
	r := s.offer(ctx, o, "spike", rate, b.Spike)
	o.Checks = append(o.Checks,
		Check{What: "times the completion rate, below 70 % of what can be accepted", Want: "5", Got: fmt.Sprintf("%.1f", rate/c.complete), Met: rate >= spikeTimes*c.complete*0.99},
		allAccepted("refused or failed in the spike", r),
		Check{What: "p99 in the spike", Want: "< " + latencyTarget.String(), Got: r.Latency.P99.Round(time.Millisecond).String(), Met: r.Latency.P99 < latencyTarget},
	)
	last := r.Points[len(r.Points)-1].State.Counts.Backlog()
	begun := time.Now()
	if _, err := b.drain(ctx, app); err != nil {
		return nil, err
	}
	o.Checks = append(o.Checks, foretold(c, rate, b.Spike, last, time.Since(begun))...)
	return o, b.settled(ctx, app, s, o, r)
}

// foretold holds what a spike left waiting, and how long that took to end, to what
// package simulate makes of the capacity.
func foretold(c capacity, rate float64, lasts time.Duration, waited int, took time.Duration) []Check {
	points := simulate.Run(simulate.Machine(c.accept, c.complete), load.Shape{{From: rate, To: rate, For: lasts}}, time.Second, 24*time.Hour)
	end := points[int(lasts/time.Second)-1]
	drains := points[len(points)-1].At - end.At
	check := func(what, got string, part float64) Check {
		return Check{What: what + ", of what is simulated", Want: "80 to 120 %", Got: fmt.Sprintf("%.0f %%: %s", 100*part, got), Met: part >= 0.8 && part <= 1.2}
	}
	return []Check{
		check("waiting after the spike", fmt.Sprintf("%d, not %.0f", waited, end.Waits()), float64(waited)/end.Waits()),
		check("time until none waits", fmt.Sprintf("%v, not %v", took.Round(time.Second), drains), took.Seconds()/drains.Seconds()),
	}
}

// overload offers more than can be accepted. Mock backends let what was accepted
// come to its end sooner.
func (b *bench) overload(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, "-latency", "0s")
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	app, err := b.Serve(ctx, b.Samples.Mocked(mock.URL))
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	s := b.stream(app)
	s.names[mock.Pid()] = "mock backends"
	defer s.client.Close()
	c, err := b.probe(ctx, app, s)
	if err != nil {
		return nil, err
	}
	o = &Outcome{}
	over := s.offer(ctx, o, "overload", overloadTimes*c.accept, b.Spike)
	after := s.offer(ctx, o, "afterwards", soakPart*c.complete, afterwards)
	normal := secondsUntilNormal(after)
	o.Checks = append(o.Checks,
		Check{What: "failed in the overload", Want: "0", Got: fmt.Sprint(over.Failed), Met: over.Failed == 0},
		refusals(over),
		Check{What: "seconds until it is normal again", Want: fmt.Sprintf("<= %d", recoveryTarget), Got: fmt.Sprint(normal), Met: normal <= recoveryTarget},
	)
	return o, b.settled(ctx, app, s, o, over, after)
}

// allAccepted judges whether every request was accepted, and shows why the first one
// failed.
func allAccepted(what string, r *load.Result) Check {
	c := Check{What: what, Want: "0", Got: fmt.Sprint(r.Refused + r.Failed), Met: r.Refused+r.Failed == 0}
	if r.Failed > 0 {
		c.Got += ", the first with: " + r.Failure
	}
	return c
}

// refusals judges how soon clients are refused. Where nobody was, nothing is known of
// that: the target is missed.
func refusals(r *load.Result) Check {
	c := Check{What: fmt.Sprintf("p99 of %d refusals, each with Retry-After", r.Refused), Want: "< " + refusalTarget.String(), Got: r.Refusal.P99.Round(time.Millisecond).String()}
	c.Met = r.Refused > 0 && r.Refusal.P99 < refusalTarget
	if r.Refused == 0 {
		c.Got = fmt.Sprintf("nobody was refused; accepted with p99 %v", r.Latency.P99.Round(time.Millisecond))
	}
	return c
}

// secondsUntilNormal returns after how many seconds nothing was refused any more,
// and all was quick.
func secondsUntilNormal(r *load.Result) int {
	normal := 0
	for _, p := range r.Points {
		if p.Refused+p.Failed > 0 || p.Latency.P99 >= latencyTarget {
			normal = p.Second + 1
		}
	}
	return normal
}

// settled waits until nothing is left to be done, and checks that nothing that was
// accepted is lost. What the app has counted for all loads together goes with the
// last.
func (b *bench) settled(ctx context.Context, app *Process, s *stream, o *Outcome, results ...*load.Result) error {
	if _, err := b.drain(ctx, app); err != nil {
		return err
	}
	if end := app.State(ctx); end.Known && s.first.Known {
		o.Loads[len(o.Loads)-1].Counts = new(end.Counts.Since(s.first.Counts))
	}
	var ids []string
	for _, r := range results {
		ids = append(ids, r.IDs...)
	}
	return s.lost(ctx, o, ids)
}

// lost asks for each transaction that was accepted, and checks that all are at their
// end.
func (s *stream) lost(ctx context.Context, o *Outcome, ids []string) error {
	open, err := s.open(ctx, ids)
	if err != nil {
		return err
	}
	o.Checks = append(o.Checks, Check{What: fmt.Sprintf("lost of %d accepted", len(ids)), Want: "0", Got: fmt.Sprint(open), Met: open == 0, Lost: open > 0})
	return nil
}

// open returns how many transactions are not in a final state.
func (s *stream) open(ctx context.Context, ids []string) (int, error) {
	var open atomic.Int64
	err := s.ask(ctx, ids, func(_ string, at load.Status) {
		if !workflow.State(at.State).Final() {
			open.Add(1)
		}
	})
	return int(open.Load()), err
}

// ask asks how far transactions are; answers come from many goroutines at once.
func (s *stream) ask(ctx context.Context, ids []string, answer func(id string, at load.Status)) error {
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(ids) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				at, err := s.client.Status(ctx, ids[n])
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
				answer(ids[n], at)
			}
		})
	}
	asking.Wait()
	return errors.Join(failed, ctx.Err())
}
