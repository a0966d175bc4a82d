package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// errAway is the failure of what can't be reached.
var errAway = failure.New(failure.Transient, "reach", "", errors.New("connection refused"))

// stampFake is a shard in memory.
type stampFake struct {
	log          *fakeLog
	transactions *fakeTransactions
	outside      *workflowtest.Outside
	hubAway      error
	databaseAway error
}

// site is what several fronts share: shards, the map and the directory.
type site struct {
	t        *testing.T
	stamps   map[shard.Number]*stampFake
	maps     *fakeMaps
	requests *fakeRequests
	mint     *shard.Minter
	now      time.Time
	random   uint64
	opened   int // shards that are open
	apps     map[string]shard.Number
}

// keep is how long what has ended is kept, and ahead how long it may be changed.
const (
	keep  = 30 * 24 * time.Hour
	ahead = 10 * 24 * time.Hour
)

func newSite(t *testing.T) *site {
	s := &site{t: t, stamps: map[shard.Number]*stampFake{}, maps: &fakeMaps{}, requests: newFakeRequests(), mint: realMint(t, noon), now: noon}
	for n := shard.First; n <= 3; n++ {
		s.stamps[n] = &stampFake{
			log: &fakeLog{}, transactions: &fakeTransactions{documents: map[string]*workflow.Progress{}},
			outside: workflowtest.NewOutside(&workflowtest.Gate{}),
		}
	}
	return s
}

func (s *stampFake) stamp() Stamp {
	return Stamp{
		Log: s.log, Transactions: s.transactions, Outside: s.outside, Lasting: s.transactions,
		ReachHub: func(context.Context) error { return s.hubAway }, ReachDatabase: func(context.Context) error { return s.databaseAway },
	}
}

// front is an instance of the front.
type front struct {
	*Service
	progress *Progress
	shards   *Shards
}

func (s *site) front() *front {
	shards := NewShards(ShardsConfig{
		Maps: s.maps, Alone: shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"}), Home: s.stamps[shard.First].stamp(),
		Open: func(of shard.Shard) (Stamp, error) {
			s.opened++
			stamp := s.stamps[of.Number].stamp()
			stamp.Close = func(context.Context) error { s.opened--; return nil }
			return stamp, nil
		},
		AppShard: func(_ context.Context, url string) (shard.Number, error) {
			if n, ok := s.apps[url]; ok {
				return n, nil
			}
			return 0, errAway
		},
		Random: func() uint64 { return s.random }, Now: func() time.Time { return s.now }, Logger: slog.New(slog.DiscardHandler),
	})
	known := Known{Shards: shards, Requests: s.requests, Mint: s.mint, Retention: 24 * time.Hour, Now: func() time.Time { return s.now },
		Keep: keep, Ahead: ahead,
	}
	return &front{
		Service: New(Config{
			Known: known, Now: known.Now,
			Past: func(*workflow.Progress, workflow.OperationKind, time.Time) (string, bool) { return "", false },
		}),
		progress: NewProgress(known), shards: shards,
	}
}

// change makes an operator's changes by a front.
func (s *site) change(f *front, changes ...shard.Change) {
	s.t.Helper()
	for _, c := range changes {
		if _, _, _, err := f.shards.Change(s.t.Context(), c, "op", "test"); err != nil {
			s.t.Fatal(err)
		}
	}
}

func add(name string, weight int) shard.Change {
	return shard.Change{Act: shard.ActAdd, Name: name, Weight: weight, Endpoints: shard.Endpoints{Hub: "requests-" + name, Database: "fabrikam-" + name}}
}

func pin(caller string, to shard.Number) shard.Change {
	return shard.Change{Act: shard.ActPin, Caller: caller, Shard: to}
}

// two has a front with two shards, the second of which is where ann is pinned.
func two(t *testing.T) (*site, *front) {
	t.Helper()
	s := newSite(t)
	f := s.front()
	s.change(f, add("b", 0), pin("ann", 2))
	return s, f
}

// sent returns the envelopes in each shard's log, which must name that shard.
func (s *site) sent(n shard.Number) []engine.Envelope {
	s.t.Helper()
	var out []engine.Envelope
	for _, e := range s.stamps[n].log.events {
		envelope, err := engine.DecodeIn(n, e.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, envelope)
	}
	return out
}

// expect holds how many events the shards have, from the first.
func (s *site) expect(what string, events ...int) {
	s.t.Helper()
	for i, want := range events {
		if got := len(s.sent(shard.Number(i + 1))); got != want {
			s.t.Errorf("%s: shard %d has %d events, want %d", what, i+1, got, want)
		}
	}
}

// store puts the document of a transaction of ann's into a shard.
func (s *site) store(n shard.Number, id string) {
	s.stamps[n].transactions.documents[id] = &workflow.Progress{
		ID: id, State: workflow.Running, Caller: "ann", Revision: 1, AcceptedAt: workflow.At(s.now), Request: json.RawMessage(`{"a":1}`),
		Operations: []workflow.OperationRecord{{ID: "o-1", Kind: workflow.OperationStart, Caller: "ann", Hash: workflow.Hash(workflow.OperationStart, id, []byte(`{"a":1}`))}},
	}
}

func accepted(t *testing.T) func(Result, error) Result {
	return func(r Result, err error) Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// Ensure that a pinned caller's transaction is in its shard with all that is asked of it,
// before and after the caller has moved.
func TestMovedCaller(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	r := ok(f.Post(ctx, input(`{"a":1}`), ""))
	if n, claimed := shard.Claimed(r.TransactionID); !claimed || n != 2 {
		t.Fatalf("%s is in shard %d", r.TransactionID, n)
	}
	s.expect("a post", 0, 1)
	s.change(f, pin("ann", 1))
	other := s.front()
	for what, at := range map[string]*front{"the front that minted it": f, "a new one": other} {
		if v, err := at.progress.Get(ctx, r.TransactionID, "ann"); err != nil || v.Observed {
			t.Errorf("%s doesn't know of %s: %+v, %v", what, r.TransactionID, v, err)
		}
	}
	// The client had no answer, and repeats the Post under the id that it was told.
	ok(other.Put(ctx, r.TransactionID, input(`{"a":1}`)))
	s.expect("its repeat", 0, 2)
	s.store(2, r.TransactionID)
	ok(other.Patch(ctx, r.TransactionID, input(`{"a":2}`), ""))
	ok(other.Delete(ctx, r.TransactionID, input(""), "k"))
	ok(f.Delete(ctx, r.TransactionID, input(""), "k"))
	s.expect("changes", 0, 5)
	if v, err := other.progress.Get(ctx, r.TransactionID, "ann"); err != nil || !v.Observed {
		t.Errorf("%+v, %v", v, err)
	}
	if r := ok(f.Post(ctx, input(`{"a":1}`), "")); r.Repeated {
		t.Error("a new post is a repeat")
	}
	s.expect("a new post", 1, 5)
	if len(s.stamps[1].transactions.documents) > 0 || s.stamps[1].transactions.reads > 0 {
		t.Errorf("the first shard was asked %d times", s.stamps[1].transactions.reads)
	}
}

// Ensure that a key finds its first request after its caller has moved.
func TestKeyAfterAMove(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	s.stamps[2].log.fail = ErrUnacknowledged
	if _, err := f.Post(ctx, input(`{"a":1}`), "k"); !errors.Is(err, ErrUnacknowledged) {
		t.Fatal(err)
	}
	s.stamps[2].log.fail = nil
	s.change(f, pin("ann", 1))
	first, again := ok(s.front().Post(ctx, input(`{"a":1}`), "k")), ok(f.Post(ctx, input(`{"a":1}`), "k"))
	if first.TransactionID != again.TransactionID || first.OperationID != again.OperationID || !again.Repeated {
		t.Errorf("%+v and %+v", first, again)
	}
	if _, err := f.Post(ctx, input(`{"a":2}`), "k"); !errors.Is(err, ErrKeyReused) {
		t.Errorf("another content: %v", err)
	}
	s.expect("a key", 0, 2)
}

// Ensure that an id that its client chose stays where its first try went, whatever the
// map says, and whatever an instance knows of it.
func TestChosenIDStays(t *testing.T) {
	s := newSite(t)
	old, looking, f := s.front(), s.front(), s.front()
	ctx, ok := t.Context(), accepted(t)
	looking.shards.Map(ctx)
	ok(old.Put(ctx, "order-1", input(`{"a":1}`))) // of before there were shards
	s.change(f, add("b", 0), pin("ann", 2))
	s.stamps[2].log.fail = ErrUnacknowledged
	if _, err := f.Put(ctx, "order-2", input(`{"a":1}`)); !errors.Is(err, ErrUnacknowledged) {
		t.Fatal(err)
	}
	s.stamps[2].log.fail = nil
	s.change(f, pin("ann", 1))
	s.now = s.now.Add(2 * mapPause)
	for i, at := range []*front{old, f, s.front()} { // the first one's map has one shard
		ok(at.Put(ctx, "order-2", input(`{"a":1}`)))
		ok(at.Put(ctx, "order-1", input(`{"a":1}`)))
		ok(at.Delete(ctx, "order-2", input(""), ""))
		s.expect("repeats", 2+i, 2+2*i)
		if _, err := at.Put(ctx, "order-2", input(`{"a":2}`)); !errors.Is(err, ErrOtherContent) {
			t.Errorf("another content: %v", err)
		}
	}
	s.store(2, "order-2")
	if v, err := looking.progress.Get(ctx, "order-2", "ann"); err != nil || !v.Observed {
		t.Errorf("with a map of one shard: %+v, %v", v, err)
	}
	for _, at := range []*front{old, f, s.front()} {
		if v, err := at.progress.Get(ctx, "order-2", "ann"); err != nil || !v.Observed {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := at.progress.Get(ctx, "order-2", "bob"); !failure.Is(err, failure.NotFound) {
			t.Errorf("another's: %v", err)
		}
		if r := ok(at.Put(ctx, "order-2", input(`{"a":1}`))); !r.Repeated {
			t.Errorf("%+v is no repeat", r)
		}
	}
}

// Ensure that an operation on record outside of its transaction is found in the
// transaction's shard.
func TestOutsideInItsShard(t *testing.T) {
	s, f := two(t)
	r := accepted(t)(f.Post(t.Context(), input(`{"a":1}`), ""))
	s.store(2, r.TransactionID)
	o := workflow.OutsideOperation{
		ID: workflow.OutsideID("o-9"), OperationID: "o-9", TransactionID: r.TransactionID, Caller: "ann", State: workflow.OperationRefused,
	}
	if err := s.stamps[2].outside.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if v, err := f.progress.GetOperation(t.Context(), r.TransactionID, "o-9", "ann"); err != nil || v.State != workflow.OperationRefused {
		t.Errorf("%+v, %v", v, err)
	}
}

// Ensure that another shard takes what one refuses before anything was sent, unless a
// repeat has to find it.
func TestAnotherShardTakesIt(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	for _, refusal := range []error{ErrBusy, errors.Join(errUntaken, errAway)} {
		s.stamps[2].log.fail = refusal
		if r := ok(f.Post(ctx, input(`{"a":1}`), "")); r.TransactionID == "" {
			t.Errorf("%+v", r)
		} else if n, _ := shard.Claimed(r.TransactionID); n != shard.First {
			t.Errorf("%s is in shard %d", r.TransactionID, n)
		}
		for what, try := range map[string]func() (Result, error){
			"a key":       func() (Result, error) { return f.Post(ctx, input(`{"a":1}`), "k") },
			"a chosen id": func() (Result, error) { return f.Put(ctx, "order-1", input(`{"a":1}`)) },
		} {
			if _, err := try(); !errors.Is(err, refusal) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	s.expect("refused by the second", 2, 0)
	s.stamps[1].log.fail = ErrBusy
	if _, err := f.Post(ctx, input(`{"a":1}`), ""); !errors.Is(err, ErrBusy) {
		t.Errorf("refused by all: %v", err)
	}
	s.stamps[1].log.fail, s.stamps[2].log.fail = nil, ErrUnacknowledged // it may have been taken
	if _, err := f.Post(ctx, input(`{"a":1}`), ""); !errors.Is(err, ErrUnacknowledged) {
		t.Errorf("perhaps taken: %v", err)
	}
	s.expect("in doubt", 2, 0)
}

// Ensure that what names a shard without having been minted for its caller leads nowhere:
// it is looked for where there is a shard, and nothing is stored or sent.
func TestForgedPlaces(t *testing.T) {
	s, f := two(t)
	ctx := t.Context()
	foreign := realMint(t, noon)
	reads := s.maps.reads
	for what, c := range map[string]struct {
		mint  *shard.Minter
		whom  string
		place shard.Number
	}{
		"another key, there": {foreign, "ann", 2}, "another key, nowhere": {foreign, "ann", 9},
		"another's, there": {s.mint, "bob", 2}, "another's, nowhere": {s.mint, "bob", 9}, "no place": {foreign, "ann", 0},
	} {
		id, err := c.mint.New(shard.TransactionIDs, c.whom, c.place)
		if err != nil {
			t.Fatal(err)
		}
		_, put := f.Put(ctx, id, input(`{"a":1}`))
		_, patch := f.Patch(ctx, id, input(`{"a":1}`), "")
		_, cancel := f.Delete(ctx, id, input(""), "k")
		_, get := f.progress.Get(ctx, id, "ann")
		_, operation := f.progress.GetOperation(ctx, id, "o-1", "ann")
		for i, err := range []error{put, patch, cancel, get, operation} {
			if !failure.Is(err, failure.NotFound) {
				t.Errorf("%s, request %d: %v", what, i, err)
			}
		}
	}
	s.expect("forged", 0, 0, 0)
	if len(s.requests.kept) > 0 || s.opened != 1 || s.maps.reads != reads {
		t.Errorf("forged ids kept %d requests, opened %d shards and had the map read %d times", len(s.requests.kept), s.opened, s.maps.reads-reads)
	}
}

// Ensure that with the directory away only what needs it is refused.
func TestDirectoryAway(t *testing.T) {
	s, f := two(t)
	ctx, ok := t.Context(), accepted(t)
	r := ok(f.Post(ctx, input(`{"a":1}`), ""))
	ok(f.Put(ctx, "order-1", input(`{"a":1}`)))
	s.store(2, "order-1")
	s.store(2, r.TransactionID)
	s.requests.fail["read"], s.requests.fail["create"] = errAway, errAway
	ok(f.Post(ctx, input(`{"a":1}`), ""))
	ok(f.Patch(ctx, r.TransactionID, input(`{"a":2}`), ""))
	ok(f.Delete(ctx, "order-1", input(""), "")) // which this instance remembers
	s.expect("without the directory", 0, 5)
	_, put := f.Put(ctx, "order-2", input(`{"a":1}`))
	_, keyed := f.Post(ctx, input(`{"a":1}`), "k")
	_, chosen := s.front().progress.Get(ctx, "order-1", "ann")
	for i, err := range []error{put, keyed, chosen} {
		if !errors.Is(err, errAway) || failure.KindOf(err) != failure.Transient {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if _, err := s.front().progress.Get(ctx, r.TransactionID, "ann"); err != nil {
		t.Errorf("a minted id: %v", err)
	}
}

// Ensure that one shard costs no request anything: the map is read once, and nothing
// that is stored or sent names a shard.
func TestOneShardCostsNothing(t *testing.T) {
	s := newSite(t)
	f := s.front()
	ctx, ok := context.Background(), accepted(t)
	for range 10 {
		r := ok(f.Post(ctx, input(`{"a":1}`), ""))
		if _, err := f.progress.Get(ctx, r.TransactionID, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	ok(f.Put(ctx, "order-1", input(`{"a":1}`)))
	ok(f.Post(ctx, input(`{"a":1}`), "k"))
	s.expect("one shard", 12, 0, 0)
	if s.maps.reads != 1 || s.opened != 0 {
		t.Errorf("the map was read %d times, and %d shards opened", s.maps.reads, s.opened)
	}
	named := func(what string, text []byte) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil || fields["shard"] != nil {
			t.Errorf("%s: %s, %v", what, text, err)
		}
	}
	for _, e := range s.stamps[1].log.events {
		named("an event", e.Body)
	}
	for _, r := range s.requests.kept {
		text, _ := json.Marshal(r)
		named("an entry", text)
	}
}
