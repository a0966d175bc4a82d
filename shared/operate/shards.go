package operate

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// ShardMember is the member of a problem that says in which shard a transaction is that
// isn't in the shard of the app that was asked.
const ShardMember = "shard"

// here adds to an error about a transaction that isn't here in which shard it is.
func (s *Service) here(ctx context.Context, id string, err error) error {
	if !failure.Is(err, failure.NotFound) {
		return err
	}
	n, unknown := s.c.Where(ctx, id)
	switch {
	case failure.Is(unknown, failure.NotFound) || unknown == nil && n == s.c.Engine.Shard.OrFirst():
		return err
	case unknown != nil:
		return unknown
	}
	p := problem.New(problem.NotFound, "it belongs to shard %d, whose own app answers for it", n)
	p.Extensions = map[string]any{ShardMember: n}
	return p
}

// ShardsView is the map of the shards as the instance has it that answers.
type ShardsView struct {
	Map *shard.Map `json:"map"`
	// ReadAt is when it was read; absent if it never was.
	ReadAt time.Time `json:"readAt,omitzero"`
	// RefreshSeconds is how old the map of an instance gets while its store answers.
	RefreshSeconds int `json:"refreshSeconds"`
	// LastingSeconds is how long after it was closed a shard may have documents, and entries of the
	// directory: then it can be removed.
	LastingSeconds int `json:"lastingSeconds"`
}

// ShardsChanged is what has become of a change of the map.
type ShardsChanged struct {
	Result  string `json:"result"`  // for people
	Changed bool   `json:"changed"` // false for what was so already
	Version int    `json:"version"` // of the map
	// RefreshSeconds is how long other instances may go by the map of before.
	RefreshSeconds int `json:"refreshSeconds"`
}

// ReadChange returns a change of the map, who makes it, and why, as a body says it:
// {by, why, change}. The error is a *problem.Problem.
func ReadChange(body []byte) (shard.Change, Actor, error) {
	var b struct {
		By     *string      `json:"by"`
		Why    *string      `json:"why"`
		Change shard.Change `json:"change"`
	}
	faults, err := problem.DecodeAll(body, &b)
	if err != nil {
		return shard.Change{}, Actor{}, err
	}
	by, err := actorOf(faults, b.By, "/why", b.Why)
	return b.Change, by, err
}
