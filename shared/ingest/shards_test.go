package ingest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that an instance that never could read the map works with the first shard, and
// tells of others that it may have to come again; and that one that has a map goes on with it.
func TestMapAway(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	s.maps.fail = errAway
	late := s.front()
	ok(late.Post(ctx, input(`{"a":1}`), ""))
	s.expect("without a map", 1, 0)
	r := ok(f.Post(ctx, input(`{"a":1}`), ""))
	s.expect("with an old map", 1, 1)
	for range 3 {
		if _, err := late.Delete(ctx, r.TransactionID, input(""), ""); failure.KindOf(err) != failure.Transient || failure.RetryAfter(err) == 0 {
			t.Errorf("an id of a shard that isn't known: %v", err)
		}
	}
	if m, at := late.shards.Map(ctx); len(m.Shards) != 1 || !at.IsZero() {
		t.Errorf("%+v of %v", m, at)
	}
	s.maps.fail, s.now = nil, s.now.Add(mapPause+time.Millisecond)
	ok(late.Delete(ctx, r.TransactionID, input(""), ""))
	s.expect("with the map again", 1, 2)
	if m, at := late.shards.Map(ctx); m.Version != 2 || !at.Equal(s.now) {
		t.Errorf("version %d of %v", m.Version, at)
	}
}

// Ensure that ids of unknown shards have the map read once a second, not each.
func TestUnknownShardsAskSeldom(t *testing.T) {
	s, f := two(t)
	reads := s.maps.reads
	id, err := s.mint.New(shard.TransactionIDs, "ann", 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // 4 seconds
		if i%10 == 0 {
			s.now = s.now.Add(mapPause + time.Millisecond)
		}
		if _, err := f.Put(t.Context(), id, input(`{"a":1}`)); !strings.Contains(err.Error(), "version 2 of the map") {
			t.Fatal(err)
		}
	}
	if n := s.maps.reads - reads; n != 4 {
		t.Errorf("the map was read %d times", n)
	}
}

// Ensure that the timer brings changes, that neither a wrong map nor an older one takes the
// place of a good one, and that a hanging store holds up nobody but the first.
func TestMapIsRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		operator, f := s.front(), s.front()
		f.shards.c.Now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.shards.Run(ctx)
		version := func(want int) {
			t.Helper()
			synctest.Wait()
			if m, _ := f.shards.Map(ctx); m.Version != want {
				t.Errorf("version %d, want %d", m.Version, want)
			}
		}
		version(0)
		s.change(operator, add("b", 10))
		version(0)
		time.Sleep(MapRefresh)
		version(1)
		good := s.maps.put(&shard.Map{Version: 7})
		time.Sleep(MapRefresh)
		version(1)
		s.maps.put(shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"}))
		time.Sleep(MapRefresh)
		version(1)
		s.maps.put(nil)
		time.Sleep(MapRefresh)
		version(1)
		s.maps.put(good)
		s.change(operator, pin("ann", 2))
		time.Sleep(MapRefresh)
		version(2)
	})
}

// Ensure that of two operators one wins, that the other is told who did, and that who
// wins without hearing of it is none.
func TestTwoOperators(t *testing.T) {
	s, f := two(t)
	ctx := t.Context()
	base := s.maps.stored
	// Another writes between this one's read and write.
	race := &racingMaps{fakeMaps: s.maps, before: func() {
		next, _, err := base.Apply(pin("bob", 1), noon, "ann", "first")
		if err != nil {
			t.Fatal(err)
		}
		s.maps.stored = next
	}}
	f.shards.c.Maps = race
	_, _, _, err := f.shards.Change(ctx, pin("bob", 2), "bob", "second")
	var refused shard.RefusedError
	if !errors.As(err, &refused) || refused != "ann was quicker: pinned caller bob to shard 1 (first); look at the shards, and repeat what is still to be done" {
		t.Errorf("%v", err)
	}
	if to := s.maps.stored.Pins["bob"]; to != 1 {
		t.Errorf("bob is pinned to %d", to)
	}
	// Its own write was made, and is repeated by the client underneath.
	race.before, race.twice = nil, true
	if m, said, made, err := f.shards.Change(ctx, pin("bob", 2), "bob", "third"); err != nil || !made || said != "pinned caller bob to shard 2 instead of 1" || m.Pins["bob"] != 2 {
		t.Errorf("%q, %v, %v", said, made, err)
	}
	if _, said, made, err := f.shards.Change(ctx, pin("bob", 2), "bob", "again"); err != nil || made || said != "caller bob is pinned to shard 2 already" {
		t.Errorf("%q, %v, %v", said, made, err)
	}
	race.twice = false
	if _, _, _, err := f.shards.Change(ctx, pin("bob", 7), "bob", "nowhere"); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	s.maps.fail = errAway
	if _, _, _, err := f.shards.Change(ctx, pin("bob", 1), "bob", "away"); !errors.Is(err, errAway) {
		t.Errorf("%v", err)
	}
}

// racingMaps has others write between a read and a write, or writes twice.
type racingMaps struct {
	*fakeMaps
	before func()
	twice  bool
}

func (r *racingMaps) Write(ctx context.Context, m *shard.Map, etag string) error {
	if r.before != nil {
		r.before()
	}
	err := r.fakeMaps.Write(ctx, m, etag)
	if r.twice {
		err = r.fakeMaps.Write(ctx, m, etag)
	}
	return err
}
