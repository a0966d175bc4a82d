package load

import (
	"context"
	"sync"
	"time"
)

// Outcome is what became of a request.
type Outcome int

// The outcomes.
const (
	Accepted Outcome = iota
	Refused          // told that nothing was taken, and when to come again: 429 or 503 with Retry-After
	Failed           // any other answer, or none
)

// Answer is what a client was told.
type Answer struct {
	Outcome Outcome
	ID      string // of the transaction, if it was accepted
	Err     error  // why it failed
}

// Send sends the nth request, counted from 0, and waits for the answer. It is
// called from many goroutines at once.
type Send func(ctx context.Context, n int) Answer

// Config says what to send.
type Config struct {
	Shape Shape
	Send  Send
	// InFlight is how many requests may be unanswered at once: further ones are sent
	// late, which their latency shows. 0 means 8192.
	InFlight int
	// State looks at the app and its processes at the end of each second; nil for
	// nobody. The time that it takes delays no request.
	State func(ctx context.Context) State
	// Progress is told of each second after it; nil for nobody.
	Progress func(Point)
	// After is for how long seconds are told of when all requests are answered, and
	// Rested ends that early; nil for never.
	After  time.Duration
	Rested func(State) bool
	// KeepIDs keeps the ids of all that was accepted.
	KeepIDs bool
}

// Result is what a run has measured.
type Result struct {
	Offered  int `json:"offered"`
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
	Failed   int `json:"failed"`
	// Latency is that of the accepted requests, from the moment at which each was
	// due; Refusal that of the refused.
	Latency Latency `json:"latency"`
	Refusal Latency `json:"refusal"`
	// Late is how long after their moment requests were sent. Where it is large, this
	// tool or its machine was too slow, or InFlight too small.
	Late Latency `json:"late"`
	// Took is until the last answer.
	Took   time.Duration `json:"tookNanoseconds"`
	Points []Point       `json:"points"`
	// Failure is why the first request failed that did.
	Failure string   `json:"failure,omitempty"`
	IDs     []string `json:"-"`
}

// Point is one second of a run: of the requests that were due in it, and of the
// state at its end.
type Point struct {
	Second   int     `json:"second"` // from 0
	Offered  int     `json:"offered"`
	Accepted int     `json:"accepted"`
	Refused  int     `json:"refused"`
	Failed   int     `json:"failed"`
	Latency  Latency `json:"latency"` // of the accepted
	State    State   `json:"state"`
}

const usualInFlight = 8192

// Run offers requests as the shape says and returns when all that were sent are
// answered, and After has passed. The end of ctx ends it early.
func Run(ctx context.Context, c Config) *Result {
	if c.InFlight == 0 {
		c.InFlight = usualInFlight
	}
	r := newRecord(c.KeepIDs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx, c) })
	r.offer(ctx, c)
	r.answered(time.Since(r.begun))
	if c.After == 0 {
		cancel()
	}
	watching.Wait()
	return r.result()
}

// offer sends each request at its moment and waits for all answers.
func (r *record) offer(ctx context.Context, c Config) {
	places := make(chan struct{}, c.InFlight)
	var sending sync.WaitGroup
	defer sending.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := range c.Shape.Count() {
		due := c.Shape.At(n)
		if wait := due - time.Since(r.begun); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		sending.Go(func() {
			r.sent(due, time.Since(r.begun)-due)
			answer := c.Send(ctx, n)
			r.count(due, time.Since(r.begun)-due, answer)
			<-places
		})
	}
}

// watch tells of each second until all is at rest.
func (r *record) watch(ctx context.Context, c Config) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for second := 0; ; second++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var s State
		if c.State != nil {
			s = c.State(ctx)
		}
		p := r.ended(second, s)
		if c.Progress != nil {
			c.Progress(p)
		}
		took, all := r.over()
		if all && (time.Since(r.begun)-took >= c.After || c.Rested != nil && c.Rested(s)) {
			return
		}
	}
}
