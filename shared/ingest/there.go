package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// thereTime bounds the questions whether a shard is there that is to come into the map.
const thereTime = 10 * time.Second

// Checks ask the other shards that aren't closed whether they are there. What is away of
// them takes nothing from the rest.
func (s *Shards) Checks(ctx context.Context) []customhandler.Check {
	m, _ := s.Map(ctx)
	var checks []customhandler.Check
	for _, of := range m.Shards {
		if of.Number.IsZero() || of.State == shard.Closed {
			continue
		}
		checks = append(checks, customhandler.Check{Name: fmt.Sprintf("shard%d", of.Number), Partial: true, Ask: func(ctx context.Context) error {
			at, err := s.At(ctx, of.Number)
			if err != nil {
				return err
			}
			return at.reach(ctx)
		}})
	}
	return checks
}

// reach asks for all of a shard. The error names what isn't there.
func (s *Stamp) reach(ctx context.Context) error {
	return errors.Join(named("hub", s.ReachHub(ctx)), named("database", s.ReachDatabase(ctx)))
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its %s: %w", what, err)
}

// there refuses to lead requests to a shard that isn't there, or operators to an app that works
// in another one: with a shard.RefusedError, or with a problem if it may be there another time.
// Where nobody can ask, nothing is refused.
func (s *Shards) there(ctx context.Context, act shard.Act, of shard.Shard) error {
	if s.c.Open == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, thereTime)
	defer cancel()
	var errs []error
	if act == shard.ActAdd {
		stamp, err := s.c.Open(of)
		if err == nil {
			errs = append(errs, named("hub", stamp.ReachHub(ctx)), named("database", stamp.ReachDatabase(ctx)))
			err = stamp.close(ctx)
		}
		errs = append(errs, err)
	}
	if app := of.Endpoints.App; app != "" {
		n, err := s.c.AppShard(ctx, app)
		if err == nil && n != of.Number {
			err = failure.New(failure.NotFound, "ask "+app, "", fmt.Errorf("it says that it works in shard %d: see its setting SHARD", n))
		}
		errs = append(errs, named("app", err))
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	says := fmt.Sprintf("shard %d (%s) can't be used", of.Number, of.Name)
	for _, err := range errs {
		text, _, _ := strings.Cut(err.Error(), "\n") // those of services go on for pages
		says += "; " + text
	}
	if slices.ContainsFunc(errs, func(err error) bool { return failure.KindOf(err) == failure.Transient }) {
		p := problem.New(problem.Unavailable, "%s", says)
		p.RetryAfter = problem.DefaultRetryAfter
		return p
	}
	return shard.RefusedError(says)
}
