package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func act(a shard.Act, n shard.Number) shard.Change { return shard.Change{Act: a, Shard: n} }

// Ensure that what is in a closed shard can be looked at, that a repeat of what ran there is
// answered as before, and that everything else is refused and leaves nothing behind.
func TestClosedShard(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	chosen, keyed := ok(f.Put(ctx, "order-1", input(`{"a":1}`))), ok(f.Post(ctx, input(`{"a":1}`), "k"))
	minted := ok(f.Post(ctx, input(`{"a":1}`), ""))
	for _, r := range []Result{chosen, keyed, minted} {
		s.store(2, r.TransactionID)
		p := s.stamps[2].transactions.documents[r.TransactionID]
		p.State, p.Operations[0].ID = workflow.Completed, r.OperationID
	}
	lost, err := s.mint.New(shard.TransactionIDs, "ann", 2) // of a Post that was not acknowledged
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.progress.Get(ctx, lost, "ann"); err != nil || v.Observed {
		t.Errorf("before: %+v, %v", v, err)
	}
	s.change(f, act(shard.ActClose, 2))
	ok(f.Patch(ctx, minted.TransactionID, input(`{"a":2}`), "")) // closing takes changes of its own
	ok(f.Put(ctx, lost, input(`{"a":3}`)))
	s.expect("closing", 0, 5)
	s.change(f, act(shard.ActClosed, 2))
	entries := len(s.requests.kept)
	for what, r := range map[string]Result{"chosen": chosen, "keyed": keyed, "minted": minted} {
		if v, err := f.progress.Get(ctx, r.TransactionID, "ann"); err != nil || !v.Observed {
			t.Errorf("%s: %+v, %v", what, v, err)
		}
		_, patch := f.Patch(ctx, r.TransactionID, input(`{"a":2}`), "k-"+what)
		_, cancel := f.Delete(ctx, r.TransactionID, input(""), "")
		for i, err := range []error{patch, cancel} {
			var closed *ShardClosedError
			if !errors.As(err, &closed) || closed.Shard != 2 || !failure.Is(err, failure.Conflict) {
				t.Errorf("%s, change %d: %v", what, i, err)
			}
		}
	}
	_, again := f.Put(ctx, lost, input(`{"a":3}`))
	var closed *ShardClosedError
	if !errors.As(again, &closed) {
		t.Errorf("a put of what never ran: %v", again)
	}
	if _, err := f.progress.Get(ctx, lost, "ann"); !failure.Is(err, failure.NotFound) {
		t.Errorf("what never ran: %v", err)
	}
	for what, try := range map[string]func() (Result, error){
		"a put":  func() (Result, error) { return f.Put(ctx, "order-1", input(`{"a":1}`)) },
		"a key":  func() (Result, error) { return f.Post(ctx, input(`{"a":1}`), "k") },
		"an old": func() (Result, error) { return s.front().Put(ctx, "order-1", input(`{"a":1}`)) },
	} {
		if r, err := try(); err != nil || !r.Repeated {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	s.expect("closed", 0, 5)
	if n := len(s.requests.kept); n != entries {
		t.Errorf("%d entries, before %d", n, entries)
	}
	ok(f.Post(ctx, input(`{"a":1}`), ""))
	s.expect("a pinned caller's new one", 1, 5)
}

// Ensure that the ids of a closed shard are looked for until its last document has expired, and
// unknown afterwards, when it may have been taken away.
func TestTakenAwayShard(t *testing.T) {
	s, f := two(t)
	ctx := t.Context()
	r := accepted(t)(f.Post(ctx, input(`{"a":1}`), ""))
	s.change(f, act(shard.ActClose, 2), act(shard.ActClosed, 2))
	s.stamps[2].transactions.fail = failure.New(failure.Transient, "read", r.TransactionID, errAway)
	s.now = s.now.Add(keep)
	for _, want := range []failure.Kind{failure.Transient, failure.NotFound} {
		_, get := f.progress.Get(ctx, r.TransactionID, "ann")
		_, operation := f.progress.GetOperation(ctx, r.TransactionID, r.OperationID, "ann")
		_, cancel := f.Delete(ctx, r.TransactionID, input(""), "")
		for i, err := range []error{get, operation, cancel} {
			if failure.KindOf(err) != want {
				t.Errorf("request %d: %v, want the kind %v", i, err, want)
			}
		}
		s.now = s.now.Add(f.c.Known.Lasting() + time.Second)
	}
}

// Ensure that a front with an old map sends nothing into a closed shard that anybody takes for
// accepted: the hub's refusal has it read the map, and another shard takes what surely
// was not sent.
func TestOldMapAndAClosedShard(t *testing.T) {
	s, f := two(t)
	ctx := t.Context()
	old := s.front()
	old.shards.Map(ctx)
	s.change(f, act(shard.ActClose, 2), act(shard.ActClosed, 2))
	s.stamps[2].log.fail = errors.Join(ErrUnacknowledged, ErrRefusing) // was under way
	s.now = s.now.Add(mapPause / 2)
	if _, err := old.Post(ctx, input(`{"a":1}`), ""); !errors.Is(err, ErrUnacknowledged) {
		t.Errorf("under way: %v", err)
	}
	s.stamps[2].log.fail = errors.Join(errUntaken, ErrRefusing)
	if r, err := old.Post(ctx, input(`{"a":1}`), ""); err != nil {
		t.Error(err)
	} else if n, _ := shard.Claimed(r.TransactionID); n != shard.First {
		t.Errorf("it went to shard %d", n)
	}
	if m, _ := old.shards.Map(ctx); m.Version != 2 {
		t.Errorf("the map was read again at once: version %d", m.Version)
	}
	s.now = s.now.Add(mapPause)
	if _, err := old.Put(ctx, "order-1", input(`{"a":1}`)); failure.KindOf(err) != failure.Transient {
		t.Errorf("a put: %v", err)
	}
	if m, _ := old.shards.Map(ctx); m.Version != 4 {
		t.Errorf("version %d", m.Version)
	}
	var closed *ShardClosedError
	if _, err := old.Put(ctx, "order-1", input(`{"a":1}`)); !errors.As(err, &closed) {
		t.Errorf("with the new map: %v", err)
	}
	s.expect("old", 1, 0)
}

// Ensure that of a hub that begins to refuse the first batch on each partition is in doubt, and
// that the next one was surely not taken.
func TestWriterOfARefusingHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1")
		var refusing bool
		sends := 0
		p.onSend = func(context.Context, string, []Event) error {
			if sends++; refusing {
				return errors.Join(ErrRefusing, failure.New(failure.Transient, "send", "", nil))
			}
			return nil
		}
		w := NewWriter(p, Limits{}, nil)
		defer func() {
			if err := w.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		try := func() error { return w.Append(t.Context(), Event{TransactionID: "t", Body: []byte("{}")}) }
		if err := try(); err != nil {
			t.Fatal(err)
		}
		refusing = true
		for i, doubt := range []bool{true, true, false, false} {
			if err := try(); errors.Is(err, ErrUnacknowledged) != doubt || untaken(err) == doubt || !errors.Is(err, ErrRefusing) {
				t.Errorf("batch %d: %v", i, err)
			}
		}
		if sends != 5 {
			t.Errorf("%d sends: a refusing hub has no better partition", sends)
		}
		refusing = false
		time.Sleep(rest)
		for range 2 {
			if err := try(); err != nil {
				t.Error(err)
			}
		}
		refusing = true
		if err := try(); !errors.Is(err, ErrUnacknowledged) {
			t.Errorf("refused anew: %v", err)
		}
	})
}

// Ensure that ids of an older key lead to their shard while that key is known, and that without
// it their documents are still found, and nothing else is done for them.
func TestRotationOfTheKeyOfIDs(t *testing.T) {
	s, _ := two(t)
	ctx, ok := t.Context(), accepted(t)
	keys := make([]shard.IDKey, 2)
	for i := range keys {
		var err error
		if keys[i], err = shard.NewIDKey(uint8(i), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	with := func(keys ...shard.IDKey) *front {
		s.mint = shard.NewMinter(keys, func() time.Time { return s.now }, rand.Reader)
		return s.front()
	}
	f := with(keys[0])
	ran, waits := ok(f.Post(ctx, input(`{"a":1}`), "")).TransactionID, ok(f.Post(ctx, input(`{"a":1}`), "")).TransactionID
	s.store(2, ran)
	f = with(keys[1], keys[0])
	ok(f.Put(ctx, waits, input(`{"a":1}`)))
	ok(f.Patch(ctx, ran, input(`{"a":2}`), ""))
	if n, _ := shard.Claimed(ok(f.Post(ctx, input(`{"a":1}`), "")).TransactionID); n != 2 {
		t.Errorf("the new key's id is in shard %d", n)
	}
	s.expect("both keys", 0, 5)
	f = with(keys[1])
	if v, err := f.progress.Get(ctx, ran, "ann"); err != nil || !v.Observed {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := f.Put(ctx, waits, input(`{"a":1}`)); !failure.Is(err, failure.NotFound) {
		t.Errorf("an id of a key that is gone: %v", err)
	}
	s.expect("the new key", 0, 5)
}
