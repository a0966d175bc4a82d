package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// ErrWhichShard is returned where one shard is meant and nobody says which.
var ErrWhichShard = errors.New("there are several shards: say which one with -shard N")

// Apps are the apps of all shards: the front, and those that its map names. Each
// tells of its own shard alone. It is for one goroutine. Close must be called.
type Apps struct {
	Front  *Client
	secret Secret
	view   *operate.ShardsView
	opened map[shard.Number]*Client
}

// NewApps returns the apps behind a front, which it closes. The secret goes to all
// addresses of its map, which only operators can change.
func NewApps(front *Client, secret Secret) *Apps {
	return &Apps{Front: front, secret: secret, opened: map[shard.Number]*Client{shard.First: front}}
}

// Close closes the connections.
func (a *Apps) Close() {
	for _, c := range a.opened {
		c.Close()
	}
}

// shards returns the shards; none if there is the front alone, which an older app
// doesn't say.
func (a *Apps) shards(ctx context.Context) ([]shard.Shard, error) {
	if a.view == nil {
		v, err := a.Front.Shards(ctx)
		if p := (*problem.Problem)(nil); err != nil && (!errors.As(err, &p) || p.Status != http.StatusNotFound) {
			return nil, fmt.Errorf("read the map of the shards: %w", err)
		}
		a.view = &v
	}
	if a.view.Map == nil || len(a.view.Map.Shards) == 1 {
		return nil, nil
	}
	return a.view.Map.Shards, nil
}

// At returns the app of a shard. 0 is the only one: ErrWhichShard if there are several.
func (a *Apps) At(ctx context.Context, n shard.Number) (*Client, error) {
	if n == shard.First {
		return a.Front, nil
	}
	shards, err := a.shards(ctx)
	switch i := slices.IndexFunc(shards, func(s shard.Shard) bool { return s.Number == n }); {
	case err != nil:
		return nil, err
	case i >= 0:
		return a.open(shards[i])
	case n != 0:
		return nil, fmt.Errorf("there is no shard %d", n)
	case shards != nil:
		return nil, ErrWhichShard
	}
	return a.Front, nil
}

// open returns the app of a shard.
func (a *Apps) open(s shard.Shard) (*Client, error) {
	if c, ok := a.opened[s.Number]; ok {
		return c, nil
	}
	if s.Endpoints.App == "" {
		return nil, fmt.Errorf("the map doesn't say where the app of shard %d is: set it with shards app", s.Number)
	}
	c, err := NewClient(s.Endpoints.App, a.secret)
	if err != nil {
		return nil, fmt.Errorf("the app of shard %d: %w", s.Number, err)
	}
	a.opened[s.Number] = c
	return c, nil
}

// Where asks for a transaction in the app of its shard: the one that its id says, or
// that the front knows of a client's id.
func Where[T any](ctx context.Context, a *Apps, id string, ask func(*Client) (T, error)) (T, error) {
	at := a.Front
	if n, minted := shard.Claimed(id); minted && n != shard.First {
		if _, err := a.shards(ctx); err != nil {
			var none T
			return none, err
		}
		if a.view.Map != nil && a.view.Map.Has(n) { // else the front tells that it isn't there
			var err error
			if at, err = a.At(ctx, n); err != nil {
				var none T
				return none, err
			}
		}
	}
	got, err := ask(at)
	p := (*problem.Problem)(nil)
	if at != a.Front || !errors.As(err, &p) {
		return got, err
	}
	n, elsewhere := p.Extensions[operate.ShardMember].(float64)
	if !elsewhere {
		return got, err
	}
	if at, err = a.At(ctx, shard.Number(n)); err != nil {
		return got, err
	}
	return ask(at)
}

// Of is something of a shard; Shard is 0 if there is only one.
type Of[T any] struct {
	Shard shard.Number
	One   T
}

// MarshalJSON writes the shard as a further member of an object.
func (o Of[T]) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(o.One)
	if err != nil || o.Shard == 0 {
		return own, err
	}
	return append(fmt.Appendf(nil, `{"shard":%d,`, o.Shard), own[1:]...), nil
}

// Each asks the apps of all shards at once, or of one shard if it isn't 0, for lists,
// and joins these. The error names each shard that is missing from the list, and why;
// what the others say is returned with it, nil if there is nobody else.
func Each[T any](ctx context.Context, a *Apps, only shard.Number, ask func(context.Context, *Client) ([]T, error)) ([]Of[T], error) {
	shards, err := a.shards(ctx)
	if err != nil {
		return nil, err
	}
	if shards == nil || only != 0 {
		at, err := a.At(ctx, cmp.Or(only, shard.First))
		if err != nil {
			return nil, err
		}
		list, err := ask(ctx, at)
		if err != nil {
			return nil, err
		}
		return of(only, list), nil
	}
	lists, errs := make([][]T, len(shards)), make([]error, len(shards))
	var asked sync.WaitGroup
	for i, s := range shards {
		if s.State == shard.Closed && s.Endpoints.App == "" {
			continue // it was taken away
		}
		at, err := a.open(s)
		if err != nil {
			errs[i] = err
			continue
		}
		asked.Go(func() { lists[i], errs[i] = ask(ctx, at) })
	}
	asked.Wait()
	var all []Of[T]
	for i, s := range shards {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("shard %d (%s) is missing from this list: %w", s.Number, line(s.Name), errs[i])
			continue
		}
		all = append(all, of(s.Number, lists[i])...)
	}
	return all, errors.Join(errs...)
}

func of[T any](n shard.Number, list []T) []Of[T] {
	out := []Of[T]{}
	for _, one := range list {
		out = append(out, Of[T]{n, one})
	}
	return out
}

// sharded are rows with a column for the shard in front, if any says one.
func sharded[T any](head []string, list []Of[T], row func(T) []string) [][]string {
	several := slices.ContainsFunc(list, func(o Of[T]) bool { return o.Shard != 0 })
	rows := [][]string{head}
	if several {
		rows[0] = append([]string{"SHARD"}, head...)
	}
	for _, o := range list {
		cells := row(o.One)
		if several {
			cells = append([]string{fmt.Sprint(o.Shard)}, cells...)
		}
		rows = append(rows, cells)
	}
	return rows
}
