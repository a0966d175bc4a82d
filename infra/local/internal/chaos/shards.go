package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// MostShards is how many a run has at most.
const MostShards = system.MaxShards

// sharded reports whether there is more than one shard. Then callers have tokens, by
// which the front tells them apart; with one shard there are no callers.
func (c Config) sharded() bool { return c.Shards > 1 }

// mapped is how many shards are in the map from the start: the last one is added in
// the middle, if there are enough.
func (c Config) mapped() int {
	if c.Shards > 2 {
		return c.Shards - 1
	}
	return c.Shards
}

// flags are those of serve for the shards.
func (c Config) flags(second string) []string {
	if !c.sharded() {
		return nil
	}
	return []string{"-shards", strconv.Itoa(c.Shards), "-mapped", strconv.Itoa(c.mapped()), "-second-http", second}
}

// callers is how many there are.
const callers = 8

// operator is the name of who changes the map, and makes the calls of no caller.
const operator = "operator"

// callerOf names the caller of the nth request, where callers are told apart.
func callerOf(n int) string { return fmt.Sprint("caller-", n%callers) }

// tokens are those of all callers. They are safe for concurrent use.
type tokens struct {
	issuer *issuer.Issuer
	mu     sync.Mutex
	given  map[string]string // by caller
	failed error
}

// of returns the token of a caller; that of nobody may do everything.
func (t *tokens) of(caller string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, ok := t.given[caller]; ok {
		return token
	}
	name, roles := caller, []auth.Role{auth.Client}
	if caller == "" {
		name, roles = operator, []auth.Role{auth.Client, auth.Scheduler, auth.Operator}
	}
	token, err := t.issuer.Token(name, roles...)
	if err != nil {
		t.failed = err
		return ""
	}
	t.given[caller] = token
	return token
}

// options say how to call the app.
func (r *run) options(o workload.ClientOptions) workload.ClientOptions {
	o.URL = "http://" + r.at.HTTP
	if r.c.sharded() {
		o.Token = r.tokens.of
		if r.c.Instances > 1 {
			o.Others = []string{"http://" + r.second}
		}
	}
	return o
}

// source says where everything is.
func (r *run) source() invariant.Source {
	in := func(n int) invariant.Source {
		s := invariant.Source{CosmosDB: r.at.CosmosDB, Database: system.InShard(database, n), ServiceBus: r.at.ServiceBus}
		for _, queue := range queues {
			s.Queues = append(s.Queues, system.InShard(queue, n))
		}
		return s
	}
	all := in(1)
	for n := 2; n <= r.c.Shards; n++ {
		further := in(n)
		further.Shard = numbered(n)
		all.Further = append(all.Further, further)
	}
	return all
}

// answersParallel is how many are asked for at a time.
const answersParallel = 16

// answers asks the front for each transaction that a client knows of, in the name of
// its caller.
func (r *run) answers(ctx context.Context, entries []invariant.LedgerEntry) (map[string]workflow.State, error) {
	if !r.c.sharded() {
		return nil, nil
	}
	all := map[string]workflow.State{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(answersParallel)
	for id, caller := range callersOf(entries) {
		group.Go(func() error {
			v, err := r.client.Progress(workload.As(ctx, caller), id)
			if err != nil && workload.Status(err) != http.StatusNotFound {
				return fmt.Errorf("ask for transaction %s at the end: %w", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			all[id] = workflow.State(v.State)
			return nil
		})
	}
	return all, group.Wait()
}

// callersOf returns whose the transactions are.
func callersOf(entries []invariant.LedgerEntry) map[string]string {
	all := map[string]string{}
	for _, e := range entries {
		all[e.TransactionID] = e.Caller
	}
	return all
}

// stamps are the names of the instances that work on the further shards.
func (c Config) stamps() []string {
	var names []string
	for n := 2; n <= c.Shards; n++ {
		names = append(names, system.StampName(n))
	}
	return slices.Clip(names)
}
