package bench

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/baseline"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Comparing says what the scenario compare measures.
type Comparing struct {
	Backends   []string // names of Backends
	Partitions []int
	Rate       float64 // at which latencies are measured, a second
}

// Backends are how the mock backends of the scenario compare behave, by name.
var Backends = map[string][]string{
	"5ms":  {"-latency", "5ms"},
	"50ms": {"-latency", "50ms"},
	"tail": {"-latency", "5ms", "-tail", "2s", "-share", strconv.FormatFloat(tailShare, 'f', -1, 64)},
}

// Everything is all that compare can measure.
func Everything(rate float64) Comparing {
	return Comparing{Backends: []string{"5ms", "50ms", "tail"}, Partitions: []int{1, 4, 32}, Rate: rate}
}

var schedulers = []settings.SchedulerMode{settings.SchedulerQueue, settings.SchedulerStream, settings.SchedulerBatch}

// Way is what one way to schedule has come to in one case.
type Way struct {
	Backends   string                 `json:"backends"`
	Partitions int                    `json:"partitions"`
	Scheduler  settings.SchedulerMode `json:"scheduler"`
	Rounds     []WayRound             `json:"rounds"`
	// Stopped is nil where there was no other instance to stop.
	Stopped *Stopped `json:"stopped,omitempty"`
}

func (w Way) String() string {
	return fmt.Sprintf("%s, %d partitions, %s", w.Backends, w.Partitions, w.Scheduler)
}

// WayRound is one round: a backlog that comes as fast as it is accepted, then requests
// at a rate.
type WayRound struct {
	Effort                // of the backlog, from its first request to its last end
	Counts    load.Counts `json:"counts"` // of the backlog
	Latencies Latencies   `json:"latencies"`
}

// Latencies are from each 202 to Completed, at the rate.
type Latencies struct {
	P50 time.Duration `json:"p50Nanoseconds"`
	P99 time.Duration `json:"p99Nanoseconds"`
}

// ways compares the ways to schedule, in turns, with the same work.
func (b *bench) ways(ctx context.Context) (*Outcome, error) {
	o := &Outcome{}
	for _, backends := range b.Compare.Backends {
		for _, partitions := range b.Compare.Partitions {
			if err := b.waysOf(ctx, o, backends, partitions); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

func (b *bench) waysOf(ctx context.Context, o *Outcome, backends string, partitions int) (err error) {
	mock, err := b.mock(ctx, append(slices.Clone(Backends[backends]), "-calls")...)
	if err != nil {
		return err
	}
	defer closing(mock, &err)
	c := &comparison{bench: b, mock: mock}
	var ways []Way
	for _, scheduler := range schedulers {
		ways = append(ways, Way{Backends: backends, Partitions: partitions, Scheduler: scheduler})
	}
	for round := range b.Rounds {
		for i := range ways { // who is first changes with each round
			w := &ways[(i+round)%len(ways)]
			r, err := c.round(ctx, w)
			if err != nil {
				return fmt.Errorf("%v: %w", w, err)
			}
			w.Rounds = append(w.Rounds, r)
			b.Notice(fmt.Sprintf("  %v: %.0f/s, %v to %v", w, r.Rate(), r.Latencies.P50, r.Latencies.P99))
		}
	}
	for i := range ways {
		if w := &ways[i]; partitions > 1 {
			if w.Stopped, err = c.stopped(ctx, w, nil); err != nil {
				return fmt.Errorf("%v, an instance stopped: %w", w, err)
			}
			b.Notice(fmt.Sprintf("  %v, an instance stopped: %v", w, w.Stopped))
		}
	}
	o.Ways = append(o.Ways, ways...)
	o.Checks = append(o.Checks, c.check(fmt.Sprintf("%s, %d partitions", backends, partitions)))
	return nil
}

// comparison is the scenario in one case.
type comparison struct {
	*bench
	mock *Process

	accepted, lost int // in all rounds

	sent atomic.Int64 // requests, to all apps: the mock backends know them apart
}

// check judges whether anything was lost in any round.
func (c *comparison) check(what string) Check {
	return Check{What: fmt.Sprintf("lost of %d accepted, %s", c.accepted, what), Want: "0", Got: fmt.Sprint(c.lost), Met: c.lost == 0, Lost: c.lost > 0}
}

// ended counts what was accepted, and of that what has not come to its end.
func (c *comparison) ended(t *taken, ends map[string]time.Time) {
	c.accepted += len(t.at)
	c.lost += len(t.at) - len(ends)
}

// sending returns what sends the next request, whatever number it is asked for.
func (c *comparison) sending(s *stream) load.Send {
	return func(ctx context.Context, _ int) load.Answer { return s.client.Send(ctx, int(c.sent.Add(1))) }
}

// callsAgain returns how many calls the mock backends have got before.
func (c *comparison) callsAgain(ctx context.Context) (int, error) {
	var told baseline.Told
	err := ask(ctx, http.MethodGet, c.mock.URL+"/calls", &told)
	return told.Again, err
}

// settings are the app's: no call times out that is only slow.
func (c *comparison) settings(w *Way) map[string]string {
	set := c.Samples.Mocked(c.mock.URL)
	maps.Copy(set, map[string]string{"SCHEDULER": string(w.Scheduler), "CALL_TIMEOUT_SECONDS": "4"})
	return set
}

// round measures one way once, with an app of its own.
func (c *comparison) round(ctx context.Context, w *Way) (r WayRound, err error) {
	starter := c.Starter
	starter.Partitions = w.Partitions
	app, err := starter.Serve(ctx, c.settings(w))
	if err != nil {
		return r, err
	}
	defer closing(app, &err)
	s := c.stream(app)
	defer s.client.Close()
	send := c.sending(s)
	if _, err := accepted(load.Full(ctx, clients, max(1, c.Backlog/4), 0, send)); err != nil { // which warms it up
		return r, err
	}
	if _, err := c.drain(ctx, app); err != nil {
		return r, err
	}
	before, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return r, err
	}
	var burst taken
	r.Effort, err = scope{roots: []int{app.Pid()}}.measure(func() (int, error) {
		if _, err := accepted(load.Full(ctx, clients, c.Backlog, 0, burst.taking(send))); err != nil {
			return 0, err
		}
		return c.drain(ctx, app)
	})
	if err != nil {
		return r, err
	}
	after, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return r, err
	}
	r.Counts = after.Since(before)
	ends, err := s.ends(ctx, burst.ids())
	if err != nil {
		return r, err
	}
	r.Done, r.Took = len(ends), burst.until(ends)
	c.ended(&burst, ends)
	shape := load.Shape{{From: c.Compare.Rate, To: c.Compare.Rate, For: c.For}}
	var paced taken
	result := load.Run(ctx, load.Config{Shape: shape, Send: paced.taking(send)})
	if _, err := accepted(result); err != nil {
		return r, err
	}
	if _, err := c.drain(ctx, app); err != nil {
		return r, err
	}
	if ends, err = s.ends(ctx, paced.ids()); err != nil {
		return r, err
	}
	r.Latencies = paced.latencies(ends)
	c.ended(&paced, ends)
	return r, nil
}

// taken are the requests that were accepted, and when their clients knew.
type taken struct {
	mu    sync.Mutex
	begun time.Time // of the first request
	at    map[string]time.Time
}

// taking returns what sends, and notes what was accepted.
func (t *taken) taking(send load.Send) load.Send {
	t.begun, t.at = time.Now(), map[string]time.Time{}
	return func(ctx context.Context, n int) load.Answer {
		answer := send(ctx, n)
		now := time.Now()
		if answer.Outcome == load.Accepted {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.at[answer.ID] = now
		}
		return answer
	}
}

func (t *taken) ids() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.at))
}

// until returns how long it took from the first request to the last end.
func (t *taken) until(ends map[string]time.Time) (last time.Duration) {
	for _, end := range ends {
		last = max(last, end.Sub(t.begun))
	}
	return last
}

// latencies are from each 202 to the end; 0 where the end came first.
func (t *taken) latencies(ends map[string]time.Time) (l Latencies) {
	var all []time.Duration
	for id, end := range ends {
		all = append(all, max(0, end.Sub(t.at[id])))
	}
	if len(all) == 0 {
		return l
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100].Round(time.Millisecond) }
	return Latencies{P50: at(50), P99: at(99)}
}

// ends returns when transactions came to their end, those that have.
func (s *stream) ends(ctx context.Context, ids []string) (map[string]time.Time, error) {
	var mu sync.Mutex
	ends := map[string]time.Time{}
	err := s.ask(ctx, ids, func(id string, at load.Status) {
		if workflow.State(at.State).Final() {
			mu.Lock()
			defer mu.Unlock()
			ends[id] = at.EndedAt
		}
	})
	return ends, err
}
