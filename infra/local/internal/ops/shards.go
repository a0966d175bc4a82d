package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Shards returns the map of the shards.
func (c *Client) Shards(ctx context.Context) (v operate.ShardsView, err error) {
	return v, c.get(ctx, &v, nil, "shards")
}

// Left returns what is left to be done in the app's shard.
func (c *Client) Left(ctx context.Context) (l operate.Left, err error) {
	return l, c.get(ctx, &l, nil, "left")
}

// ChangeShards changes the map.
func (c *Client) ChangeShards(ctx context.Context, change shard.Change, a operate.Actor) (done operate.ShardsChanged, err error) {
	body, err := json.Marshal(map[string]any{"by": a.By, "why": a.Why, "change": change})
	if err != nil {
		return done, err
	}
	return done, c.do(ctx, http.MethodPost, c.url(nil, []string{"shards"}), body, &done)
}

// WriteShards writes the map for people, with what the shards' apps tell of them.
func WriteShards(w io.Writer, v operate.ShardsView, told []Of[operate.Status]) error {
	pins := map[shard.Number]int{}
	for _, n := range v.Map.Pins {
		pins[n]++
	}
	of := map[shard.Number]operate.Status{}
	for _, one := range told {
		of[one.Shard.OrFirst()] = one.One
	}
	rows := [][]string{{"SHARD", "NAME", "STATE", "WEIGHT", "PINS", "OPEN", "STUCK", "BACKLOG", "ENDS/S", "HUB", "DATABASE", "APP"}}
	for _, s := range v.Map.Shards {
		e := s.Endpoints
		row := []string{strconv.Itoa(int(s.Number)), cell(s.Name), cell(stateOf(s, v)), strconv.Itoa(s.Weight), strconv.Itoa(pins[s.Number])}
		row = append(row, figures(of[s.Number])...)
		rows = append(rows, append(row, cell(placeOf(e.EventHubs, e.Hub)), cell(placeOf(e.CosmosDB, e.Database)), cell(e.App)))
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "version %d, read %s; an instance's map is up to %d s old while its store answers\n",
		v.Map.Version, moment(v.ReadAt), v.RefreshSeconds)
	if err != nil || len(v.Map.History) == 0 {
		return err
	}
	last := v.Map.History[len(v.Map.History)-1]
	_, err = fmt.Fprintf(w, "last change %s by %s: %s (%s)\n", moment(last.At), line(last.By), line(last.Change), line(last.Why))
	return err
}

// figures are how many transactions of a shard are open and Stuck, how many events and messages
// wait, and the rate of the ends; a dash for what nobody has told.
func figures(s operate.Status) []string {
	if s.At.IsZero() {
		return []string{"-", "-", "-", "-"}
	}
	ends := 0.0
	for _, rate := range s.Ends {
		ends += rate
	}
	if s.Survey.At.IsZero() {
		return []string{"-", "-", "-", rate(ends)}
	}
	var open operate.Count
	for state, n := range s.Survey.States {
		if state != workflow.Stuck {
			open.Count += n.Count
			open.More = open.More || n.More
		}
	}
	backlog := int64(0)
	for _, p := range s.Survey.Partitions {
		backlog += p.Lag
	}
	for _, q := range s.Survey.Queues {
		backlog += q.Active + q.Scheduled + q.Dead
	}
	stuck := s.Survey.States[workflow.Stuck]
	stuck.OldestAt = time.Time{}
	return []string{count(open, ""), count(stuck, ""), strconv.FormatInt(backlog, 10), rate(ends)}
}

// stateOf is the state of a shard, with when a closed one can be removed: when the last of what
// it, and the directory, have of it has expired.
func stateOf(s shard.Shard, v operate.ShardsView) string {
	if s.State != shard.Closed {
		return string(s.State)
	}
	return fmt.Sprintf("closed, can be removed from %s", s.ClosedAt.Add(time.Duration(v.LastingSeconds)*time.Second).Format(time.DateOnly))
}

// placeOf names a thing with the address it is at, if that isn't the front's.
func placeOf(address, name string) string {
	if address == "" {
		return name
	}
	return address + "/" + name
}

// WriteShardsChanged says what has become of a change.
func WriteShardsChanged(w io.Writer, c operate.ShardsChanged) error {
	text := c.Result
	if c.Changed {
		text = fmt.Sprintf("%s; the map has version %d, and instances go by it within %d s, while its store answers", text, c.Version, c.RefreshSeconds)
	}
	_, err := fmt.Fprintln(w, line(text))
	return err
}
