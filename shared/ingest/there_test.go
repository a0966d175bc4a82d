package ingest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that nothing comes into the map that isn't there, or that another app works in, and that
// the refusal says which part it is.
func TestAddsOnlyWhatIsThere(t *testing.T) {
	s := newSite(t)
	f := s.front()
	s.apps = map[string]shard.Number{"https://a": 1, "https://b": 2}
	second, ctx := s.stamps[2], t.Context()
	missing := failure.New(failure.NotFound, "read database", "fabrikam-b", errors.New("404\na page of it"))
	const is = "shard 2 (b) can't be used; "
	for _, c := range []struct {
		hub, database error
		app, want     string
		again         bool
	}{
		{hub: errAway, want: is + "its hub: " + errAway.Error(), again: true},
		{database: missing, want: is + "its database: read database fabrikam-b: 404"},
		{hub: missing, database: errAway, app: "https://c", want: is + "its hub: read database fabrikam-b: 404; its database: " + errAway.Error() + "; its app: " + errAway.Error(), again: true},
		{app: "https://a", want: is + "its app: ask https://a: it says that it works in shard 1: see its setting SHARD"},
		{app: "https://b"},
	} {
		second.hubAway, second.databaseAway = c.hub, c.database
		change := add("b", 10)
		change.Endpoints.App = c.app
		_, said, made, err := f.shards.Change(ctx, change, "op", "test")
		if c.want == "" {
			if err != nil || !made || said != "added shard 2, b, with weight 10" {
				t.Errorf("%q, %v, %v", said, made, err)
			}
			continue
		}
		var later *problem.Problem
		var refused shard.RefusedError
		if again := errors.As(err, &later); again != c.again || again && (later.Detail != c.want || later.Status != 503 || later.RetryAfter == 0) || !again && (!errors.As(err, &refused) || string(refused) != c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if s.maps.stored != nil {
			t.Fatalf("it is in the map")
		}
	}
	// Another address of its app: its hub need not be there for that.
	second.hubAway = errAway
	for app, ok := range map[string]bool{"https://a": false, "https://c": false, "": true} {
		_, _, _, err := f.shards.Change(ctx, shard.Change{Act: shard.ActApp, Shard: 2, Endpoints: shard.Endpoints{App: app}}, "op", "test")
		if (err == nil) != ok {
			t.Errorf("app at %q: %v", app, err)
		}
	}
	if s.opened != 0 {
		t.Errorf("%d shards are left open", s.opened)
	}
}

// Ensure that the other shards are asked, but for the closed ones, and that they are a part.
func TestChecksOfShards(t *testing.T) {
	s, f := two(t)
	s.change(f, add("c", 1))
	closed := *s.maps.stored
	closed.Version++
	closed.Shards = append([]shard.Shard{}, closed.Shards...)
	closed.Shards[2].State = shard.Closed
	s.maps.put(&closed)
	asked := func() string {
		text := ""
		for _, c := range s.front().shards.Checks(t.Context()) {
			text += fmt.Sprintln(c.Name, c.Partial, c.Ask(t.Context()))
		}
		return text
	}
	if got := asked(); got != "shard2 true <nil>\n" {
		t.Errorf("%s", got)
	}
	s.stamps[2].databaseAway = errAway
	if got := asked(); got != "shard2 true its database: "+errAway.Error()+"\n" {
		t.Errorf("%s", got)
	}
	s.maps.put(nil)
	if got := asked(); got != "" {
		t.Errorf("with one shard: %s", got)
	}
}
