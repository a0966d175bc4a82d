package main

import (
	"context"
	"fmt"
	"io"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// closeShard takes the next step of closing a shard: it gets no new transactions; when nothing is
// left in it, its hub is set to refuse; when there is still nothing left then, it is closed.
func closeShard(ctx context.Context, c *opsCall) error {
	s, err := c.managedShard(ctx)
	if err != nil {
		return err
	}
	if s.State == shard.Closing && s.Number != shard.First {
		done, err := c.emptied(ctx, s)
		if err != nil || !done {
			return err
		}
		return c.changed(ctx, shard.Change{Act: shard.ActClosed, Shard: s.Number})
	}
	if err := c.changed(ctx, shard.Change{Act: shard.ActClose, Shard: s.Number}); err != nil || c.asJSON {
		return err
	}
	switch {
	case s.Number == shard.First:
		_, err = fmt.Fprintln(c.out, "shard 1 holds the map and the directory: it can be closing, and is never closed for good")
	case s.State == shard.Open:
		_, err = fmt.Fprintln(c.out, "repeat the command: it says what is left, and ends when nothing is")
	}
	return err
}

// openShard opens a closing shard again: first its hub, which may refuse already.
func openShard(ctx context.Context, c *opsCall) error {
	s, err := c.managedShard(ctx)
	if err != nil {
		return err
	}
	if s.State == shard.Closing && s.Number != shard.First {
		if err := c.setHub(ctx, s, ops.HubActive); err != nil {
			return err
		}
	}
	return c.changed(ctx, shard.Change{Act: shard.ActOpen, Shard: s.Number})
}

// managedShard returns the shard that the command is about. The app answers for one that isn't
// there.
func (c *opsCall) managedShard(ctx context.Context) (shard.Shard, error) {
	n, err := shardNumber(c.words[0])
	if err != nil {
		return shard.Shard{}, &usageError{"ops: " + err.Error()}
	}
	v, err := c.apps.Front.Shards(ctx)
	if err != nil {
		return shard.Shard{}, err
	}
	s, _ := v.Map.Shard(n)
	s.Number = n
	return s, nil
}

// emptied has the hub refuse as soon as nothing is left in a shard, and reports whether there is
// still nothing left then.
func (c *opsCall) emptied(ctx context.Context, s shard.Shard) (bool, error) {
	app, err := c.apps.At(ctx, s.Number)
	if err != nil {
		return false, err
	}
	for _, refuses := range []bool{false, true} {
		if refuses {
			if err := c.setHub(ctx, s, ops.HubSendDisabled); err != nil {
				return false, err
			}
		}
		l, err := app.Left(ctx)
		switch {
		case err != nil:
			return false, err
		case l.Shard != s.Number:
			return false, fmt.Errorf("the app that the map has for shard %d works in shard %d: mend it with shards app", s.Number, l.Shard)
		case len(l.Says) == 0:
		case c.asJSON:
			return false, writeLines(c, []operate.Left{l})
		default:
			return false, writeLeft(c.out, l, refuses)
		}
	}
	return true, nil
}

func writeLeft(w io.Writer, l operate.Left, refuses bool) error {
	text := fmt.Sprintf("shard %d is closing, and this is left in it:\n", l.Shard)
	if refuses {
		text = fmt.Sprintf("shard %d is closing, its hub refuses already, and this is left in it:\n", l.Shard)
	}
	for _, says := range l.Says {
		text += "  " + says + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// setHub sets the status of a shard's hub, and waits until it holds.
func (c *opsCall) setHub(ctx context.Context, s shard.Shard, to ops.HubStatus) error {
	if c.hubAt == "" {
		if c.elsewhere {
			return &usageError{"ops: say where the hub of the shard is managed, with -hub"}
		}
		here, err := endpointsHere("its hub with -hub")
		if err != nil {
			return err
		}
		c.hubAt = here.Admin
	}
	settles, err := ops.SetHub(ctx, c.hubAt, s.Endpoints.Hub, to)
	if err != nil {
		return fmt.Errorf("set hub %s to %s: %w", s.Endpoints.Hub, to, err)
	}
	return engine.Pause(ctx, settles)
}

// changed makes a change of the map, and says what has become of it.
func (c *opsCall) changed(ctx context.Context, change shard.Change) error {
	done, err := c.apps.Front.ChangeShards(ctx, change, operate.Actor{By: c.by, Why: c.why})
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return writeLines(c, []operate.ShardsChanged{done})
	}
	return ops.WriteShardsChanged(c.out, done)
}
