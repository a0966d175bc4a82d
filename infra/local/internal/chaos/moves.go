package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

func numbered(n int) shard.Number { return shard.Number(n) }

// move is a change of the map at a moment since the start.
type move struct {
	at     time.Duration
	change shard.Change
}

// The moments of a run, as parts of its duration, at which the last shard is added and the
// second one closed; the pins and weights that change all the time; and how long an
// old map is to be kept by some around the closing.
const (
	addedPart    = 0.35
	closedPart   = 0.6
	pinsEvery    = 2 * time.Second
	fewestPins   = 12
	movesPart    = 0.9
	weightEvery  = 4 // pins
	oldMapBefore = 2 * time.Second
	oldMapTime   = 15 * time.Second
)

// planMoves returns what operators do to the map, in its order.
func (c Config) planMoves() []move {
	if !c.sharded() {
		return nil
	}
	random := rand.New(rand.NewPCG(c.Seed, 0x6d6f766573))
	part := func(share float64) time.Duration { return time.Duration(share * float64(c.Duration)) }
	open, last := []int{1}, numbered(c.Shards)
	for n := 2; n <= c.mapped(); n++ {
		open = append(open, n)
	}
	var all []move
	added := c.mapped() == c.Shards
	closing := false
	pins := max(fewestPins, int(c.Duration/pinsEvery))
	for i := range pins {
		at := part(movesPart * float64(i) / float64(pins))
		if !added && at >= part(addedPart) {
			added, open = true, append(open, c.Shards)
			n := c.Shards
			all = append(all, move{part(addedPart), shard.Change{
				Act: shard.ActAdd, Name: fmt.Sprint("shard-", n), Weight: 100,
				Endpoints: shard.Endpoints{Hub: system.InShard(eventHub, n), Database: system.InShard(database, n)},
			}}, move{part(addedPart), shard.Change{Act: shard.ActPin, Caller: issuer.CallerID(callerOf(0)), Shard: last}})
		}
		if !closing && c.closes() && at >= part(closedPart) {
			closing, open = true, slices.DeleteFunc(open, func(n int) bool { return n == closed })
			all = append(all, move{part(closedPart), shard.Change{Act: shard.ActClose, Shard: closed}})
		}
		caller := issuer.CallerID(callerOf(random.IntN(callers)))
		to := numbered(open[random.IntN(len(open))])
		switch {
		case i%weightEvery == 1:
			all = append(all, move{at, shard.Change{Act: shard.ActWeight, Shard: to, Weight: 50 + random.IntN(100)}})
		case i%weightEvery == 3:
			all = append(all, move{at, shard.Change{Act: shard.ActUnpin, Caller: caller}})
		default:
			all = append(all, move{at, shard.Change{Act: shard.ActPin, Caller: caller, Shard: to}})
		}
	}
	return all
}

// closed is the shard that is closed in the middle of a run.
const closed = 2

// moves are the changes of the map that were made. They are safe for concurrent use.
type moves struct {
	mu   sync.Mutex
	made []made
}

// made is a change that was made at some time between two.
type made struct {
	shard.Change
	from, until time.Time
}

// makeMoves makes the changes of a plan at their moments, each again until it is made or
// refused for good, which no change is to be. urls are the fronts, which have their turns.
func (r *run) makeMoves(ctx context.Context, urls []string, plan []move) error {
	if len(plan) == 0 {
		return nil
	}
	token := func(context.Context) (string, error) { return r.tokens.of(""), nil }
	var fronts []*ops.Client
	for _, url := range urls {
		front, err := ops.NewClient(url, ops.Secret{Token: token})
		if err != nil {
			return err
		}
		defer front.Close()
		fronts = append(fronts, front)
	}
	for n, m := range plan {
		if !wait(ctx, m.at-time.Since(r.begun)) {
			return nil
		}
		refusals := 0
		for try, from := n, time.Now(); ; try++ {
			asked, cancel := context.WithTimeout(ctx, moveLimit)
			front := fronts[try%len(fronts)]
			_, err := front.ChangeShards(asked, m.change, operate.Actor{By: operator, Why: "chaos"})
			there := err != nil && m.change.Act == shard.ActAdd && has(asked, front, m.change.Name)
			cancel()
			if err == nil || there {
				r.moves.add(made{m.change, from, time.Now()})
				break
			}
			var refused *problem.Problem
			if errors.As(err, &refused) && refused.Status < 500 {
				// A start of the tree may have been quicker.
				if refusals++; refusals > refusalsTaken {
					r.load.found("the map", "%s of %v was refused: %v", m.change.Act, m.change, err)
					break
				}
			}
			if !wait(ctx, movePause) {
				return nil
			}
		}
	}
	return nil
}

// has reports whether a shard is in the map: the answer to its being added may be lost.
func has(ctx context.Context, front *ops.Client, name string) bool {
	v, err := front.Shards(ctx)
	return err == nil && slices.ContainsFunc(v.Map.Shards, func(s shard.Shard) bool { return s.Name == name })
}

const (
	refusalsTaken = 5
	moveLimit     = 5 * time.Second
	movePause     = 250 * time.Millisecond
)

func (m *moves) add(one made) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made = append(m.made, one)
}

// all returns those that were made, in their order.
func (m *moves) all() []made {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.made)
}

// pinned returns where a caller was pinned all the time between two, 0 if that can't be
// told, or it wasn't.
func pinned(all []made, caller string, from, until time.Time) shard.Number {
	var at shard.Number
	for _, m := range all {
		of := m.Caller == issuer.CallerID(caller) || m.Act == shard.ActClose && m.Shard == at
		switch {
		case !of || m.from.After(until):
		case m.until.After(from): // in between
			return 0
		case m.Act == shard.ActPin:
			at = m.Shard
		default:
			at = 0
		}
	}
	return at
}

// closing reports whether a shard was closing at a time, for sure.
func closing(all []made, n shard.Number, at time.Time) bool {
	return slices.ContainsFunc(all, func(m made) bool { return m.Act == shard.ActClose && m.Shard == n && m.until.Before(at) })
}

// placements counts, of the requests that were accepted, those that are where their
// caller was pinned, and those that an old map has placed in a shard that was closing.
func placements(outcomes []outcome, all []made, in map[string]shard.Number) (obeyed, old int) {
	for _, o := range outcomes {
		at, stored := in[o.transactionID]
		if o.transactionID == "" || !stored {
			continue
		}
		if closing(all, at, o.begun) {
			old++
		}
		if pinned(all, o.Caller, o.begun, o.ended) == at {
			obeyed++
		}
	}
	return obeyed, old
}

// moved counts the requests that were sent again after their callers new ones went
// elsewhere.
func moved(outcomes []outcome, all []made, in map[string]shard.Number) int {
	n := 0
	for _, o := range outcomes {
		at, stored := in[o.transactionID]
		if !stored || o.repeated.IsZero() {
			continue
		}
		if to := pinned(all, o.Caller, o.repeated, o.repeated); to != 0 && to != at || closing(all, at, o.repeated) {
			n++
		}
	}
	return n
}

// places returns the shard of each transaction.
func places(s invariant.Snapshot) map[string]shard.Number {
	in := map[string]shard.Number{}
	for i := range s.Transactions {
		in[s.Transactions[i].ID] = shard.First
	}
	for _, part := range s.Further {
		for _, id := range part.Transactions {
			in[id] = part.Shard
		}
	}
	return in
}
