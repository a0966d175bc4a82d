package operate

import (
	"context"
	"maps"
	"time"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

const (
	// recountEvery is how old a survey may be before an instance counts again what people
	// wait for, and how often it does.
	recountEvery = 10 * time.Second
	// recountLimit is from how many on they are left to Sweep: counting them costs too much.
	recountLimit = 1000
	// recountTimeout bounds it. What can't be counted again is as Sweep has told.
	recountTimeout = 4 * time.Second
)

// recount is what an instance has counted again. What is nil was not.
type recount struct {
	at                time.Time
	quarantine, stuck *Count
	partitions        []Lag
}

// recounted returns a survey of Sweep with what of it has to be told sooner: the
// quarantine, if there was something in it or an instance has put something there since, and
// Stuck transactions and the lag, if there were any.
func (s *Service) recounted(ctx context.Context, v Survey, reports []Report, now time.Time) Survey {
	var keptAt time.Time
	for _, r := range reports {
		if r.KeptAt.After(keptAt) {
			keptAt = r.KeptAt
		}
	}
	due := now.Sub(v.At) >= recountEvery && now.Sub(s.again.at) >= recountEvery
	// Clocks differ, and what was stored just now may not be seen everywhere.
	since := func(at time.Time) bool { return !keptAt.IsZero() && keptAt.After(at.Add(-surveySlack)) }
	kept := since(v.At)
	if due || kept && since(s.again.at) {
		s.count(ctx, v, kept, now)
	}
	if !s.again.at.After(v.At) {
		return v
	}
	if c := s.again.quarantine; c != nil {
		v.Quarantine = *c
	}
	if c := s.again.stuck; c != nil {
		v.States = maps.Clone(v.States)
		v.States[workflow.Stuck] = *c
	}
	if p := s.again.partitions; p != nil {
		v.Partitions = p
	}
	return v
}

// count counts again what a survey says.
func (s *Service) count(ctx context.Context, v Survey, kept bool, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, recountTimeout)
	defer cancel()
	s.again = recount{at: now}
	again := func(c Count, count func() (Count, error)) *Count {
		if c.Count >= recountLimit {
			return nil
		}
		c, err := count()
		if err != nil || c.More {
			s.c.Logger.DebugContext(ctx, "not counted again", telemetry.KeyError, err)
			return nil
		}
		return &c
	}
	if v.Quarantine.Count > 0 || kept {
		s.again.quarantine = again(v.Quarantine, func() (Count, error) { return s.c.Counter.Kept(ctx, recountLimit) })
	}
	if c := v.States[workflow.Stuck]; c.Count > 0 {
		s.again.stuck = again(c, func() (Count, error) { return s.c.Counter.InState(ctx, workflow.Stuck, recountLimit) })
	}
	late := func(at time.Time, limit time.Duration) bool { return !at.IsZero() && now.Sub(at) > limit }
	if behindIn(v, true, late).partitions+behindIn(v, false, late).partitions > 0 {
		var err error
		if s.again.partitions, err = s.lags(ctx); err != nil {
			s.again.partitions = nil
			s.c.Logger.DebugContext(ctx, "the lag is not counted again", telemetry.KeyError, err)
		}
	}
}
