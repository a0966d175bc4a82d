package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/failure"
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
// in another one. Where nobody can ask, nothing is refused.
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
			err = errors.Join(stamp.reach(ctx), stamp.close(ctx))
		}
		errs = append(errs, err)
	}
	if app := of.Endpoints.App; app != "" {
		switch n, err := s.c.AppShard(ctx, app); {
		case err != nil:
			errs = append(errs, named("app", err))
		case n != of.Number:
			errs = append(errs, fmt.Errorf("its app %s says that it works in shard %d: see its setting SHARD", app, n))
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return shard.RefusedError(fmt.Sprintf("shard %d (%s) can't be used: %s", of.Number, of.Name, briefly(err)))
}

// briefly returns what an error says, for people: of each part the first line, since those of
// services go on for pages.
func briefly(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []string
		for _, e := range joined.Unwrap() {
			parts = append(parts, briefly(e))
		}
		return strings.Join(parts, "; ")
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if failure.Is(err, failure.NotFound) {
		text = "not found: " + text
	}
	return text
}
