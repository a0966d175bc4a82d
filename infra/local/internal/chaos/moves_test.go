package chaos

import (
	"reflect"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that whatever operators do in a run can be done, in its order: that callers move,
// the last shard comes in the middle, and the second one is closed.
func TestMovesCanBeMade(t *testing.T) {
	for shards := 1; shards <= MostShards; shards++ {
		for seed := range uint64(20) {
			c := Config{Shards: shards, Seed: seed, Duration: time.Minute}
			plan := c.planMoves()
			if shards == 1 {
				if plan != nil {
					t.Errorf("with one shard: %v", plan)
				}
				continue
			}
			if !reflect.DeepEqual(plan, c.planMoves()) {
				t.Errorf("seed %d: two plans", seed)
			}
			m := shard.Alone(shard.Endpoints{Hub: eventHub, Database: database})
			for n := 2; n <= c.mapped(); n++ {
				m = applied(t, m, shard.Change{Act: shard.ActAdd, Name: string(rune('a' + n)), Weight: 100,
					Endpoints: shard.Endpoints{Hub: string(rune('a' + n)), Database: string(rune('a' + n))}})
			}
			last := time.Duration(0)
			for _, step := range plan {
				if step.at < last {
					t.Errorf("seed %d: %v after %v", seed, step.at, last)
				}
				last = step.at
				m = applied(t, m, step.change)
			}
			second, _ := m.Shard(closed)
			if len(m.Shards) != shards || len(m.Pins) == 0 || (second.State == shard.Closing) != (shards > 2) {
				t.Errorf("seed %d, %d shards: in the end %+v", seed, shards, m)
			}
		}
	}
}

func applied(t *testing.T, m *shard.Map, c shard.Change) *shard.Map {
	t.Helper()
	next, _, err := m.Apply(c, time.Now(), "test", "test")
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return next
}

// Ensure that a placement is counted only if it is sure what the map said.
func TestWhereACallerIsPinned(t *testing.T) {
	begun := time.Now()
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	pin := func(to shard.Number, from, until int) made {
		return made{shard.Change{Act: shard.ActPin, Caller: issuer.CallerID(callerOf(1)), Shard: to}, at(from), at(until)}
	}
	all := []made{
		pin(2, 10, 12), pin(3, 20, 22),
		{shard.Change{Act: shard.ActUnpin, Caller: issuer.CallerID(callerOf(1))}, at(30), at(31)},
		pin(2, 40, 41), {shard.Change{Act: shard.ActClose, Shard: 2}, at(50), at(52)},
	}
	for _, tt := range []struct {
		from, until int
		want        shard.Number
	}{
		{1, 2, 0}, {1, 11, 0}, {11, 13, 0}, {13, 14, 2}, {13, 21, 0}, {23, 24, 3}, {23, 30, 0}, {32, 33, 0}, {42, 49, 2}, {45, 51, 0}, {53, 54, 0},
	} {
		if got := pinned(all, callerOf(1), at(tt.from), at(tt.until)); got != tt.want {
			t.Errorf("from %d to %d: pinned to %d, want %d", tt.from, tt.until, got, tt.want)
		}
	}
	if n := pinned(all, callerOf(2), at(13), at(14)); n != 0 {
		t.Errorf("another caller is pinned to %d", n)
	}
	if closing(all, 2, at(51)) || !closing(all, 2, at(53)) || closing(all, 3, at(53)) {
		t.Error("the second is closing from the 52nd second on")
	}
	ask := func(id string, from, until, again int) outcome {
		o := outcome{sending: sending{Caller: callerOf(1)}, transactionID: id, begun: at(from), ended: at(until)}
		if again > 0 {
			o.repeated = at(again)
		}
		return o
	}
	in := map[string]shard.Number{"obeyed": 2, "moved": 2, "elsewhere": 1, "old": 2, "again": 2}
	outcomes := []outcome{
		ask("obeyed", 13, 14, 15), ask("moved", 13, 14, 25), ask("elsewhere", 13, 14, 0), ask("old", 53, 54, 0), ask("again", 1, 2, 60),
		ask("", 13, 14, 0), ask("nowhere", 13, 14, 25),
	}
	if obeyed, old := placements(outcomes, all, in); obeyed != 2 || old != 1 {
		t.Errorf("%d where they are pinned, %d by an old map", obeyed, old)
	}
	if n := moved(outcomes, all, in); n != 2 {
		t.Errorf("%d repeats after a move", n)
	}
}
