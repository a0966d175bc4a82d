package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// Stopped is what became of a system of two instances of which one was killed while
// requests came, and nobody took its place but the other.
type Stopped struct {
	Accepted int `json:"accepted"`
	Lost     int `json:"lost"`
	// Recognized are operations that came again and were on record, CallsAgain calls that
	// change something and were made before: the backends recognise them by their
	// transaction. EventsAgain are events that were read again after an invocation for
	// them had ended.
	Recognized  int `json:"recognized"`
	CallsAgain  int `json:"callsAgain"`
	EventsAgain int `json:"eventsAgain"`
	// InWork is until the last end of what was accepted before the stop, and Later how
	// long the slowest took that was accepted after it.
	InWork time.Duration `json:"inWorkNanoseconds"`
	Later  time.Duration `json:"laterNanoseconds"`
}

func (s *Stopped) String() string {
	return fmt.Sprintf("%d of %d lost, %d operations recognized, %d calls and %d events again; what was in work took %v, what came later %v",
		s.Lost, s.Accepted, s.Recognized, s.CallsAgain, s.EventsAgain, s.InWork.Round(10*time.Millisecond), s.Later.Round(10*time.Millisecond))
}

// stoppedProfile has hosts that soon take over what another has left: 5 s after its
// last sign.
const stoppedProfile = "chaos"

// stoppedSettings have the least times with which a call of 2 s is no failure. Those of
// the profile are too short for that, and its quiet time is for the ways that work in
// the hub's function.
var stoppedSettings = map[string]string{
	"CALL_TIMEOUT_SECONDS": "2.5", "STEP_TIMEOUT_SECONDS": "6", "INVOCATION_TIMEOUT_SECONDS": "7", "BREAKER_DELAY_SECONDS": "3",
	"MESSAGE_LOCK_SECONDS": "10", "LEASE_SECONDS": "10", "RELAY_QUIET_SECONDS": "120",
}

// stopped measures what an instance leaves behind that is killed. more are further
// settings.
func (c *comparison) stopped(ctx context.Context, w *Way, more map[string]string) (r *Stopped, err error) {
	set := c.settings(w)
	maps.Copy(set, stoppedSettings)
	maps.Copy(set, more)
	starter := c.Starter
	starter.Partitions = w.Partitions
	before, err := c.callsAgain(ctx)
	if err != nil {
		return nil, err
	}
	app, err := starter.Serve(ctx, set, "-profile", stoppedProfile)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	victim, err := starter.Further(app, set, "-profile", stoppedProfile)
	if err != nil {
		return nil, err
	}
	defer closing(victim, &err)
	s := c.stream(app)
	defer s.client.Close()
	var all taken
	send := all.taking(c.sending(s))
	metrics, err := c.atWork(ctx, victim, send)
	if err != nil {
		return nil, err
	}
	var offering sync.WaitGroup
	shape := load.Shape{{From: c.Compare.Rate, To: c.Compare.Rate, For: c.For}}
	offering.Go(func() { load.Run(ctx, load.Config{Shape: shape, Send: send}) })
	timer := time.NewTimer(c.For / 2)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	gone, err := load.ScrapePage(ctx, metrics)
	at := time.Now()
	err = errors.Join(err, victim.Kill())
	offering.Wait()
	if err != nil {
		return nil, err
	}
	ends, err := s.awaitEnds(ctx, all.ids())
	if err != nil {
		return nil, err
	}
	c.ended(&all, ends)
	r = &Stopped{Accepted: len(all.at), Lost: len(all.at) - len(ends)}
	for id, end := range ends {
		if all.at[id].Before(at) {
			r.InWork = max(r.InWork, end.Sub(at))
		} else {
			r.Later = max(r.Later, end.Sub(all.at[id]))
		}
	}
	after, err := c.callsAgain(ctx)
	if err != nil {
		return nil, err
	}
	left, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return nil, err
	}
	r.Recognized = int(gone.Recognized + left.Recognized)
	r.CallsAgain, r.EventsAgain = after-before, max(0, int(gone.EventsTaken+left.EventsTaken)-r.Accepted)
	return r, nil
}

// atWork waits until an instance has had events to work on, and returns the page of its
// handler's metrics.
func (c *comparison) atWork(ctx context.Context, i *Process, send load.Send) (page string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the second instance has got no events within a minute"))
	defer cancel()
	for ctx.Err() == nil {
		_, url, err := handlerOf(i.Pid())
		if err == nil {
			if counts, err := load.ScrapePage(ctx, url+"/metrics"); err == nil && counts.EventsTaken > 0 {
				return url + "/metrics", nil
			}
		}
		load.Run(ctx, load.Config{Shape: load.Shape{{From: c.Compare.Rate, To: c.Compare.Rate, For: time.Second}}, Send: send})
	}
	return "", context.Cause(ctx)
}

// stoppedLimit is how long anything may wait for what has stopped: for a lease, then
// for a wake.
const stoppedLimit = 2 * time.Minute

// awaitEnds waits until all have come to their end, and returns when each has. What
// has not after stoppedLimit is left out.
func (s *stream) awaitEnds(ctx context.Context, ids []string) (map[string]time.Time, error) {
	limit := time.Now().Add(stoppedLimit)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		ends, err := s.ends(ctx, ids)
		if err != nil || len(ends) == len(ids) || time.Now().After(limit) {
			return ends, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
