package operate

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

const (
	// reportEvery is how often an instance tells of itself while it has something to
	// tell; otherwise it does every heartbeat.
	reportEvery = 5 * time.Second
	heartbeat   = time.Minute
	// current is how long what a report says holds: an instance that has more to tell
	// has told it by then.
	current = 4 * reportEvery
	// present is how long an instance counts as there.
	present = 2*heartbeat + current
	// remembered is for how long a refused undo is told: by then Sweep has counted what
	// is Stuck for it.
	remembered = surveyEvery + 2*surveySlack
	// failedLately is for how long a send that failed counts, if nobody sends again.
	failedLately = 3 * reportEvery
	// reportTimeout bounds the storing of a report.
	reportTimeout = 4 * time.Second
)

// Report is what an instance tells of itself. Rates are since the report before.
type Report struct {
	Instance  string    `json:"instance"`
	At        time.Time `json:"at"`
	Accepting Accepting `json:"accepting,omitzero"`
	// Steps are those that were called, in no order.
	Steps []StepFlow `json:"steps,omitempty"`
	// Breakers are the open ones: since when, by backend.
	Breakers map[string]time.Time `json:"breakers,omitempty"`
	Database Database             `json:"database,omitzero"`
	// KeptAt is when the instance last put something into the quarantine; zero if that is
	// some time ago. UnsentSince is as in Status.
	KeptAt      time.Time `json:"keptAt,omitzero"`
	UnsentSince time.Time `json:"unsentSince,omitzero"`
	// Ends, UndosBegun, SignInsRefused and Latency are as in Status and History.
	Ends           map[workflow.State]float64 `json:"ends,omitempty"`
	UndosBegun     float64                    `json:"undosBegun,omitempty"`
	SignInsRefused float64                    `json:"signInsRefused,omitempty"`
	Latency        float64                    `json:"latency,omitempty"`
}

// quiet reports whether there is nothing to tell but that the instance is there.
func (r *Report) quiet() bool {
	a := r.Accepting
	return a.PerSecond+a.FailedPerSecond+a.RefusedPerSecond == 0 && a.Buffer == 0 && r.Database.ThrottledPerSecond == 0 &&
		len(r.Steps)+len(r.Breakers)+len(r.Ends) == 0 && r.UndosBegun+r.SignInsRefused == 0 && r.KeptAt.IsZero() && r.UnsentSince.IsZero()
}

// Reporter counts what an instance does, for its reports. It is safe for concurrent
// use.
type Reporter struct {
	instance string
	now      func() time.Time
	// Buffer tells how many events wait in the writer, and for how many there is room;
	// Breakers for how long each breaker has been open, 0 for closed. Both are set
	// before the first report.
	Buffer   func() (events, room int)
	Breakers func() map[string]time.Duration

	mu        sync.Mutex
	since     time.Time // of the counts
	accepted  int
	failed    int
	busy      int
	signIns   int // refused
	tries     int // of operations on Cosmos DB
	throttled int
	steps     map[string]*StepFlow // the rates are counts
	ends      map[workflow.State]int
	undos     int
	latency   time.Duration // of all that were completed
	keptAt    time.Time
	sends     int       // to Service Bus, under way
	unsent    time.Time // since when it has taken nothing
	failedAt  time.Time // when it last took something not; zero if it has taken something since
}

// NewReporter returns what counts for an instance.
func NewReporter(instance string, now func() time.Time) *Reporter {
	return &Reporter{
		instance: instance, now: now, since: now(), steps: map[string]*StepFlow{}, ends: map[workflow.State]int{},
		Buffer: func() (int, int) { return 0, 0 }, Breakers: func() map[string]time.Duration { return nil },
	}
}

// Flushed counts the events of a batch.
func (r *Reporter) Flushed(f ingest.Flush) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Err != nil {
		r.failed += f.Events
	} else {
		r.accepted += f.Events
	}
}

// Tried counts a try of an operation on Cosmos DB.
func (r *Reporter) Tried(throttled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if throttled {
		r.throttled++
	}
}

// Refused counts a request that was answered with an error: the two kinds that
// somebody should know of, an instance that is too busy and a sign-in that is not good.
func (r *Reporter) Refused(err error) {
	var p *problem.Problem
	busy := errors.Is(err, ingest.ErrBusy)
	if !busy && (!errors.As(err, &p) || p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy {
		r.busy++
	} else {
		r.signIns++
	}
}

// Changed counts a transaction that has come to another state.
func (r *Reporter) Changed(_ context.Context, _ workflow.State, p *workflow.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.State == workflow.Compensating:
		r.undos++
	case p.State.Final() || p.State == workflow.Stuck:
		r.ends[p.State]++
	}
	if p.State == workflow.Completed {
		r.latency += max(0, r.now().Sub(p.AcceptedAt.Time))
	}
}

// Kept notes that something was put into the quarantine.
func (r *Reporter) Kept() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keptAt = r.now().UTC()
}

// Sends returns next, the sender to Service Bus, which is watched: whether it takes what
// it is sent.
func (r *Reporter) Sends(next engine.Sender) engine.Sender { return sends{next, r} }

type sends struct {
	engine.Sender
	to *Reporter
}

func (s sends) Send(ctx context.Context, messages ...engine.Queued) error {
	s.to.sending()
	err := s.Sender.Send(ctx, messages...)
	s.to.sent(err == nil || failure.Is(err, failure.Invalid)) // what it judges it has got
	return err
}

func (r *Reporter) sending() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.sends == 0 && now.Sub(r.failedAt) > failedLately {
		r.unsent = now
	}
	r.sends++
}

func (r *Reporter) sent(taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends--
	if r.failedAt = r.now(); taken {
		r.unsent, r.failedAt = r.failedAt, time.Time{}
	}
}

// Calls returns next, whose attempts are counted.
func (r *Reporter) Calls(next engine.Backends) engine.Backends { return watched{next, r} }

type watched struct {
	engine.Backends
	to *Reporter
}

func (c watched) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	if a.Step == "" { // of no step
		return c.Backends.Do(ctx, a)
	}
	c.to.step(a, func(s *StepFlow) { s.InFlight++ })
	o := c.Backends.Do(ctx, a)
	c.to.step(a, func(s *StepFlow) {
		s.InFlight--
		s.PerSecond++
		if o.Retry == workflow.RetryLater {
			s.FailedPerSecond++
			s.Error = o.Type
		}
		switch {
		case !a.Undo:
		case o.UndoRefused():
			s.UndoRefusedAt = c.to.now().UTC()
		case o.Retry == workflow.RetryNone:
			s.UndoRefusedAt, s.UndoneAt = time.Time{}, c.to.now().UTC()
		}
	})
	return o
}

func (r *Reporter) step(a engine.Attempt, count func(*StepFlow)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.steps[a.Step]
	if s == nil {
		s = &StepFlow{Step: a.Step, Backend: a.Call.Backend}
		r.steps[a.Step] = s
	}
	count(s)
}

// Take returns the report of what has happened since the last one.
func (r *Reporter) Take() Report {
	buffer, room := r.Buffer()
	open := r.Breakers()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now().UTC()
	seconds := max(now.Sub(r.since).Seconds(), 1e-3)
	out := Report{
		Instance: r.instance, At: now, UndosBegun: float64(r.undos) / seconds, SignInsRefused: float64(r.signIns) / seconds,
		Accepting: Accepting{
			PerSecond: float64(r.accepted) / seconds, FailedPerSecond: float64(r.failed) / seconds, RefusedPerSecond: float64(r.busy) / seconds,
			Buffer: buffer, Room: room,
		},
	}
	out.Database = Database{PerSecond: float64(r.tries) / seconds, ThrottledPerSecond: float64(r.throttled) / seconds}
	if now.Sub(r.keptAt) <= remembered {
		out.KeptAt = r.keptAt
	}
	if now.Sub(r.failedAt) <= failedLately || r.sends > 0 && now.Sub(r.unsent) >= reportEvery {
		out.UnsentSince = r.unsent.UTC()
	}
	if room > 0 {
		out.Accepting.Fullest = float64(buffer) / float64(room)
	}
	for name, s := range r.steps {
		if now.Sub(s.UndoRefusedAt) > remembered {
			s.UndoRefusedAt = time.Time{}
		}
		if now.Sub(s.UndoneAt) > remembered { // nobody tells of a refusal before it any more
			s.UndoneAt = time.Time{}
		}
		if s.InFlight == 0 && s.PerSecond == 0 && s.UndoRefusedAt.IsZero() && s.UndoneAt.IsZero() {
			delete(r.steps, name)
			continue
		}
		flow := *s
		flow.PerSecond, flow.FailedPerSecond = s.PerSecond/seconds, s.FailedPerSecond/seconds
		out.Steps = append(out.Steps, flow)
		s.PerSecond, s.FailedPerSecond, s.Error = 0, 0, ""
	}
	for backend, lasts := range open {
		if lasts > 0 {
			if out.Breakers == nil {
				out.Breakers = map[string]time.Time{}
			}
			out.Breakers[backend] = now.Add(-lasts)
		}
	}
	for state, n := range r.ends {
		if out.Ends == nil {
			out.Ends = map[workflow.State]float64{}
		}
		out.Ends[state] = float64(n) / seconds
	}
	if n := r.ends[workflow.Completed]; n > 0 {
		out.Latency = r.latency.Seconds() / float64(n)
	}
	r.since, r.accepted, r.failed, r.busy, r.signIns, r.tries, r.throttled, r.undos, r.latency = now, 0, 0, 0, 0, 0, 0, 0, 0
	clear(r.ends)
	return out
}

// Run reports to a store until ctx ends, every few seconds while there is something
// to tell, and once more when there no longer is. A report that can't be stored is lost:
// the next one tells what is so by then.
func (r *Reporter) Run(ctx context.Context, to Told, logger *slog.Logger) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	var last time.Time // of what is stored
	quiet := false     // it is
	for {
		select { // a start connects to nothing
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		report := r.Take()
		if report.quiet() && quiet && report.At.Sub(last) < heartbeat {
			continue
		}
		storing, cancel := context.WithTimeout(ctx, reportTimeout)
		err := to.Report(storing, report)
		cancel()
		if err != nil {
			logger.DebugContext(ctx, "the report of this instance is lost", telemetry.KeyError, err)
		} else {
			last, quiet = report.At, report.quiet()
		}
	}
}
