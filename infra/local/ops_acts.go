package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// transactionAct acts on the transaction that is named, or on several.
func transactionAct(name string, act func(*ops.Client, context.Context, string, operate.Actor) (operate.Acted, error)) func(context.Context, *opsCall) error {
	return func(ctx context.Context, c *opsCall) error {
		ids, err := c.named()
		if err != nil {
			return err
		}
		if len(ids) != 1 {
			return c.actOnAll(ctx, shard.First, name, ids)
		}
		acted, err := ops.Where(ctx, c.apps, ids[0], func(at *ops.Client) (operate.Acted, error) {
			return act(at, ctx, ids[0], operate.Actor{By: c.by, Why: c.why})
		})
		switch {
		case err != nil:
			return err
		case c.asJSON:
			return writeLines(c, []operate.Acted{acted})
		}
		return ops.WriteActed(c.out, acted, opsCommand)
	}
}

// entryAct acts on the entry that is named, or on those in a file.
func entryAct(kind quarantine.ActKind) func(context.Context, *opsCall) error {
	return func(ctx context.Context, c *opsCall) error {
		if c.file != "" {
			ids, err := c.named()
			if err != nil {
				return err
			}
			return c.actOnAll(ctx, c.only, string(kind), ids)
		}
		at, err := c.apps.At(ctx, c.only)
		if err != nil {
			return err
		}
		acted, err := at.Act(ctx, c.words[0], c.words[1], kind, operate.Actor{By: c.by, Why: c.why})
		if err != nil {
			return err
		}
		if c.asJSON {
			return writeLines(c, []operate.EntryActed{acted})
		}
		return ops.WriteEntryActed(c.out, acted)
	}
}

// named are the ids that are named in the call and in its file, one a line.
func (c *opsCall) named() ([]string, error) {
	ids := c.words
	if c.file == "" {
		return ids, nil
	}
	var from io.Reader = os.Stdin
	if c.file != "-" {
		file, err := os.Open(c.file)
		if err != nil {
			return nil, fmt.Errorf("ids: %w", err)
		}
		defer file.Close()
		from = file
	}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if id := strings.TrimSpace(lines.Text()); id != "" {
			ids = append(ids, id)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("ids in %s: %w", c.file, err)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s names nothing: list what to act on, with -ids", c.file)
	}
	return ids, nil
}

// actOnAll has several acted on: by one shard, and what that says is elsewhere by those
// shards.
func (c *opsCall) actOnAll(ctx context.Context, first shard.Number, act string, ids []string) error {
	acts := operate.Acts{Act: act, IDs: ids, By: operate.Actor{By: c.by, Why: c.why}}
	at, err := c.apps.At(ctx, first)
	if err != nil {
		return err
	}
	results, err := at.Acts(ctx, acts)
	if err != nil {
		return err
	}
	elsewhere := map[shard.Number][]int{}
	for i, r := range results {
		if r.Shard != 0 {
			elsewhere[r.Shard] = append(elsewhere[r.Shard], i)
		}
	}
	for n, those := range elsewhere {
		acts.IDs = nil
		for _, i := range those {
			acts.IDs = append(acts.IDs, results[i].ID)
		}
		var there []operate.Result
		at, err := c.apps.At(ctx, n)
		if err == nil {
			there, err = at.Acts(ctx, acts)
		}
		for k, i := range those {
			if err != nil {
				results[i].Result = err.Error()
			} else {
				results[i] = there[k]
			}
		}
	}
	if c.asJSON {
		err = writeLines(c, results)
	} else {
		err = ops.WriteResults(c.out, results)
	}
	if err != nil {
		return err
	}
	not := 0
	for _, r := range results {
		if !r.Done {
			not++
		}
	}
	if not > 0 {
		return fmt.Errorf("%d of %d were not done", not, len(results))
	}
	return nil
}
