package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

func listTransactions(ctx context.Context, c *opsCall) error {
	list, more, err := collect(c.max, func(next string) (ops.Page[operate.Summary], error) {
		return c.client.Transactions(ctx, c.state, next)
	})
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(c.out, "no transaction is %s\n", c.state)
		return err
	}
	if err := ops.WriteTransactions(c.out, list); err != nil {
		return err
	}
	return c.noteMore(more)
}

func showTransaction(ctx context.Context, c *opsCall) error {
	story, err := c.client.Story(ctx, c.words[0])
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, []operate.Story{story})
	}
	return ops.WriteStory(c.out, story, opsCommand)
}

func (c *opsCall) transactionActed(acted operate.Acted, err error) error {
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return writeLines(c, []operate.Acted{acted})
	}
	return ops.WriteActed(c.out, acted, opsCommand)
}

func listEntries(ctx context.Context, c *opsCall) error {
	list, more, err := collect(c.max, func(next string) (ops.Page[quarantine.Entry], error) {
		return c.client.Entries(ctx, c.source, c.reason, c.state, next)
	})
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.out, "nothing is in quarantine")
		return err
	}
	if err := ops.WriteEntries(c.out, list); err != nil {
		return err
	}
	return c.noteMore(more)
}

func showEntry(ctx context.Context, c *opsCall) error {
	entry, err := c.client.Entry(ctx, c.words[0], c.words[1])
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, []quarantine.Entry{entry})
	}
	return ops.WriteEntry(c.out, entry, opsCommand)
}

func entryAct(kind quarantine.ActKind) func(context.Context, *opsCall) error {
	return func(ctx context.Context, c *opsCall) error {
		acted, err := c.client.Act(ctx, c.words[0], c.words[1], kind, operate.Actor{By: c.by, Why: c.why})
		if err != nil {
			return err
		}
		if c.asJSON {
			return writeLines(c, []operate.EntryActed{acted})
		}
		return ops.WriteEntryActed(c.out, acted)
	}
}

func listPartitions(ctx context.Context, c *opsCall) error {
	page, err := c.client.Partitions(ctx)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeLines(c, page.Items)
	}
	return ops.WritePartitions(c.out, page.Items)
}

// replay repeats calls until all events have been handed over again.
func replay(ctx context.Context, c *opsCall) error {
	from, first := c.from, int64(-1)
	for to := (*int64)(nil); ; {
		done, err := c.client.Replay(ctx, c.partition, from, to)
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

// collect reads pages until it has so many, or all. more is set when there may
// be more of them.
func collect[T any](limit int, page func(next string) (ops.Page[T], error)) (list []T, more bool, err error) {
	next := ""
	for {
		p, err := page(next)
		if err != nil {
			return nil, false, err
		}
		list = append(list, p.Items...)
		if next = p.Continuation; next == "" || len(list) >= limit {
			break
		}
	}
	return list[:min(len(list), limit)], len(list) > limit || next != "", nil
}

func (c *opsCall) noteMore(more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "there are more; use -max\n")
	return err
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
