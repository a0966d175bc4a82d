package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

func listTransactions(ctx context.Context, c *opsCall) error {
	nothing := "no transaction passes the filter"
	if len(c.filter) == 0 {
		nothing = "no transaction is Stuck"
	}
	return listed(ctx, c, func(ctx context.Context, at *ops.Client, next string) (ops.Page[operate.Summary], error) {
		return at.Transactions(ctx, c.filter, next)
	}, func(a, b operate.Summary) int {
		return cmp.Or(a.ChangedAt.Compare(b.ChangedAt.Time), strings.Compare(a.ID, b.ID))
	}, ops.WriteTransactions, func(s operate.Summary) string { return s.ID }, nothing)
}

func showTransaction(ctx context.Context, c *opsCall) error {
	story, err := ops.Where(ctx, c.apps, c.words[0], func(at *ops.Client) (operate.Story, error) { return at.Story(ctx, c.words[0]) })
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, []operate.Story{story})
	}
	return ops.WriteStory(c.out, story, opsCommand)
}

func listEntries(ctx context.Context, c *opsCall) error {
	return listed(ctx, c, func(ctx context.Context, at *ops.Client, next string) (ops.Page[quarantine.Entry], error) {
		return at.Entries(ctx, c.source, c.reason, c.state, next)
	}, func(a, b quarantine.Entry) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	}, ops.WriteEntries, func(e quarantine.Entry) string { return e.Source + "/" + e.ID }, "nothing is in quarantine")
}

func showEntry(ctx context.Context, c *opsCall) error {
	at, err := c.apps.At(ctx, c.only)
	if err != nil {
		return err
	}
	entry, err := at.Entry(ctx, c.words[0], c.words[1])
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, []quarantine.Entry{entry})
	}
	return ops.WriteEntry(c.out, entry, opsCommand)
}

// statuses are those of all shards, or of the one that is meant.
func statuses(ctx context.Context, c *opsCall) ([]ops.Of[operate.Status], error) {
	return ops.Each(ctx, c.apps, c.only, func(ctx context.Context, at *ops.Client) ([]operate.Status, error) {
		s, err := at.Status(ctx)
		return []operate.Status{s}, err
	})
}

func showStatus(ctx context.Context, c *opsCall) error {
	list, missing := statuses(ctx, c)
	if list == nil {
		return missing
	}
	if c.asJSON {
		var told []operate.Status // each says of which shard it is
		for _, o := range list {
			told = append(told, o.One)
		}
		return cmp.Or(writeLines(c, told), missing)
	}
	return cmp.Or(ops.WriteStatus(c.out, list), missing)
}

func listPartitions(ctx context.Context, c *opsCall) error {
	list, missing := ops.Each(ctx, c.apps, c.only, func(ctx context.Context, at *ops.Client) ([]relay.Partition, error) {
		page, err := at.Partitions(ctx)
		return page.Items, err
	})
	if list == nil {
		return missing
	}
	if c.asJSON {
		return cmp.Or(writeLines(c, list), missing)
	}
	return cmp.Or(ops.WritePartitions(c.out, list), missing)
}

// replay repeats calls until all events have been handed over again.
func replay(ctx context.Context, c *opsCall) error {
	at, err := c.apps.At(ctx, c.only)
	if err != nil {
		return err
	}
	from, first := c.from, int64(-1)
	for to := (*int64)(nil); ; {
		done, err := at.Replay(ctx, c.partition, from, to)
		if err != nil && to != nil {
			err = errors.Join(err, fmt.Errorf("what came before is handed over; go on with -from %s", from))
		}
		if err != nil {
			return err
		}
		if first < 0 {
			first = done.First
		}
		if c.asJSON {
			err = writeLines(c, []relay.Replayed{done})
		} else {
			err = ops.WriteReplayed(c.out, done, first)
		}
		if err != nil || done.Next == nil {
			return err
		}
		from, to = strconv.FormatInt(*done.Next, 10), &done.To
	}
}

// listed writes what the shards list, as one list with the least by order first if there are
// several of them. The error names those that are missing from it.
func listed[T any](ctx context.Context, c *opsCall, page func(ctx context.Context, at *ops.Client, next string) (ops.Page[T], error),
	order func(a, b T) int, write func(io.Writer, []ops.Of[T]) error, id func(T) string, nothing string,
) error {
	var more atomic.Bool
	list, missing := ops.Each(ctx, c.apps, c.only, func(ctx context.Context, at *ops.Client) ([]T, error) {
		list, further, err := ops.Collect(c.max, func(next string) (ops.Page[T], error) { return page(ctx, at, next) })
		if further {
			more.Store(true)
		}
		return list, err
	})
	if list == nil {
		return missing
	}
	if len(list) > 0 && list[0].Shard != list[len(list)-1].Shard {
		slices.SortStableFunc(list, func(a, b ops.Of[T]) int { return order(a.One, b.One) })
	}
	further := more.Load() || len(list) > c.max
	list = list[:min(len(list), c.max)]
	switch {
	case c.asIDs:
		text := ""
		for _, one := range list {
			text += id(one.One) + "\n"
		}
		_, err := io.WriteString(c.out, text)
		return cmp.Or(err, missing)
	case c.asJSON:
		return cmp.Or(writeLines(c, list), missing)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.out, nothing)
		return cmp.Or(err, missing)
	}
	err := write(c.out, list)
	if err == nil && further {
		_, err = fmt.Fprintln(c.out, "there are more; use -max")
	}
	return cmp.Or(err, missing)
}

// writeLines writes one JSON object a line.
func writeLines[T any](c *opsCall, list []T) error {
	for _, one := range list {
		text, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.out, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}
