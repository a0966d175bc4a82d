package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// shardVerbs are those of the map of the shards.
func shardVerbs(acting func(*flag.FlagSet, *opsCall)) []opsVerb {
	placed := func(f *flag.FlagSet, c *opsCall) {
		acting(f, c)
		e := &c.change.Endpoints
		f.StringVar(&e.Hub, "hub", "", "its event `hub` (required)")
		f.StringVar(&e.Database, "database", "", "its `database` (required)")
		f.StringVar(&e.EventHubs, "eventhubs", "", "the `namespace` of its hub (default: the front's)")
		f.StringVar(&e.CosmosDB, "cosmosdb", "", "the `endpoint` of its account (default: the front's)")
		f.StringVar(&e.App, "app", "", "the `URL` of its app")
		f.IntVar(&c.change.Weight, "weight", 0, "its part of the new transactions, 0 to 1000")
	}
	pinning := func(f *flag.FlagSet, c *opsCall) {
		acting(f, c)
		f.StringVar(&c.shard, "to", "", "the number of the `shard` (required)")
	}
	managed := func(f *flag.FlagSet, c *opsCall) {
		acting(f, c)
		f.StringVar(&c.hubAt, "hub", "", "`where` its hub is managed: its resource id in Azure, or a local runtime's admin endpoint (default: that of serve in this folder)")
	}
	return []opsVerb{
		{"shards", "", "the shards, and where new transactions go", nil, showShards},
		{"shards add", "NAME", "add a shard, whose resources and app are there", placed, shardAct(shard.ActAdd)},
		{"shards weight", "SHARD WEIGHT", "change a shard's part of the new transactions", acting, shardAct(shard.ActWeight)},
		{"shards close", "SHARD", "close a shard, step by step: repeat it until it is closed", managed, closeShard},
		{"shards open", "SHARD", "open a closing shard again", managed, openShard},
		{"shards app", "SHARD URL", "say where a shard's app is, for ops; - says that it is gone", acting, shardAct(shard.ActApp)},
		{"pin", "CALLER", "send a caller's new transactions to one shard", pinning, shardAct(shard.ActPin)},
		{"unpin", "CALLER", "let weights decide about a caller", acting, shardAct(shard.ActUnpin)},
	}
}

// shardNumber reads the number of a shard.
func shardNumber(text string) (shard.Number, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number of a shard", text)
	}
	return shard.Number(n), nil
}

func showShards(ctx context.Context, c *opsCall) error {
	v, err := c.apps.Front.Shards(ctx)
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return writeLines(c, []operate.ShardsView{v})
	}
	told, missing := statuses(ctx, c)
	return cmp.Or(ops.WriteShards(c.out, v, told), missing)
}

// shardAct makes a change of what its words and flags say.
func shardAct(act shard.Act) func(context.Context, *opsCall) error {
	return func(ctx context.Context, c *opsCall) error {
		change := c.change
		change.Act = act
		number := c.shard
		switch act {
		case shard.ActAdd:
			change.Name = c.words[0]
		case shard.ActPin, shard.ActUnpin:
			change.Caller = c.words[0]
		default:
			number = c.words[0]
		}
		if act != shard.ActAdd && act != shard.ActUnpin {
			n, err := shardNumber(number)
			if err != nil {
				return &usageError{"ops: " + err.Error()}
			}
			change.Shard = n
		}
		if act == shard.ActApp && c.words[1] != "-" {
			change.Endpoints.App = c.words[1]
		}
		if act == shard.ActWeight {
			var err error
			if change.Weight, err = strconv.Atoi(c.words[1]); err != nil {
				return &usageError{fmt.Sprintf("ops: %q is no weight", c.words[1])}
			}
		}
		return c.changed(ctx, change)
	}
}
