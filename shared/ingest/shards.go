package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// How old a map gets, while its store answers.
const (
	// MapRefresh is how often an instance reads the map.
	MapRefresh = 10 * time.Second
	// mapPause is the least time between two reads that requests ask for.
	mapPause = time.Second
	// mapPatience bounds a read: the first one is waited for.
	mapPatience = time.Second
)

// Maps keeps the map of the shards. Implementations are safe for concurrent use and
// give errors whose kind failure.KindOf tells.
type Maps interface {
	// Read returns the map and its ETag. NotFound if none was ever stored.
	Read(ctx context.Context) (m *shard.Map, etag string, err error)
	// Write stores a map in place of the one with that ETag, or the first one if etag is
	// "". Conflict if there is another. After any other error either may be the case.
	Write(ctx context.Context, m *shard.Map, etag string) error
}

// Stamp is a shard as the front reaches it.
type Stamp struct {
	Log          Log
	Transactions Transactions
	Outside      Outside
	Lasting      Lasting // not asked of the first shard
	// ReachHub and ReachDatabase ask whether they are there. Not asked of the first shard.
	ReachHub, ReachDatabase func(context.Context) error
	// Close releases what Open has opened; nil for nothing.
	Close func(context.Context) error
}

// ShardsConfig is what Shards need. All fields are required but Open and AppShard, as long
// as there is one shard.
type ShardsConfig struct {
	Maps Maps
	// Alone is the map while none is stored, or none could be read yet.
	Alone *shard.Map
	// Home is the first shard, which its owner closes.
	Home Stamp
	// Open opens another one. It must not wait for it.
	Open func(shard.Shard) (Stamp, error)
	// AppShard asks an app in which shard it works.
	AppShard func(ctx context.Context, url string) (shard.Number, error)
	Random   func() uint64    // safe for concurrent use
	Now      func() time.Time // safe for concurrent use
	Logger   *slog.Logger
}

// Shards finds the shards by the stored map, of which it has a copy. It is safe for
// concurrent use. Close must be called, when nobody uses it any more.
type Shards struct {
	c       ShardsConfig
	current atomic.Pointer[copied]

	reading chan struct{} // has room for the one who reads
	tried   time.Time     // when that began, last; only for who reads
	failing bool          // only for who reads

	places places

	mu     sync.Mutex
	opened map[shard.Number]*Stamp
}

// copied is a map as it was at a time.
type copied struct {
	m  *shard.Map
	at time.Time // zero for one that was never read
}

// NewShards returns Shards. They read the map when it is first needed.
func NewShards(c ShardsConfig) *Shards {
	return &Shards{c: c, reading: make(chan struct{}, 1), opened: map[shard.Number]*Stamp{}}
}

// Run reads the map every MapRefresh, until ctx ends. The first read is that of whoever
// needs the map first.
func (s *Shards) Run(ctx context.Context) {
	tick := time.NewTicker(MapRefresh)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.refresh(ctx, s.c.Now())
		case <-ctx.Done():
			return
		}
	}
}

// Map returns the map, and when it was read; the zero time if it is none that was.
// Only the first caller waits for it, and not for long.
func (s *Shards) Map(ctx context.Context) (*shard.Map, time.Time) {
	c := s.current.Load()
	if c == nil {
		s.refresh(ctx, time.Time{})
		c = s.current.Load()
	}
	if c == nil { // it gave up before its turn came
		return s.c.Alone, time.Time{}
	}
	return c.m, c.at
}

// Age returns the version of the map and how long ago it was read; below 0 if it never was.
func (s *Shards) Age() (version int, age time.Duration) {
	c := s.current.Load()
	if c == nil || c.at.IsZero() {
		return 0, -1
	}
	return c.m.Version, s.c.Now().Sub(c.at)
}

// Place returns the shard of a new transaction of a caller, and false if there is none
// but those without which it has to do.
func (s *Shards) Place(ctx context.Context, caller string, without ...shard.Number) (shard.Number, bool) {
	m, _ := s.Map(ctx)
	return m.Place(caller, s.c.Random(), without)
}

// alone reports whether there is one shard, by the map that is here.
func (s *Shards) alone(ctx context.Context) bool {
	m, _ := s.Map(ctx)
	return len(m.Shards) == 1
}

// of returns what the map that is here says of a shard: nothing of one that it doesn't have.
func (s *Shards) of(ctx context.Context, n shard.Number) shard.Shard {
	if n.IsZero() {
		return shard.Shard{}
	}
	m, _ := s.Map(ctx)
	found, _ := m.Shard(n)
	return found
}

// closed reports whether a shard is closed, by the map that is here.
func (s *Shards) closed(ctx context.Context, n shard.Number) bool {
	return s.of(ctx, n).State == shard.Closed
}

// At returns a shard. One that the map doesn't have is looked for in the stored one. It
// fails with the kind Transient for one that isn't there either: others may have a
// newer map.
func (s *Shards) At(ctx context.Context, n shard.Number) (*Stamp, error) {
	if n.IsZero() {
		return &s.c.Home, nil
	}
	m, _ := s.Map(ctx)
	found, ok := m.Shard(n)
	if !ok {
		s.refresh(ctx, s.c.Now().Add(-mapPause))
		m, _ = s.Map(ctx)
		found, ok = m.Shard(n)
	}
	if !ok {
		return nil, &failure.Error{Kind: failure.Transient, Op: "find shard", ID: fmt.Sprint(n), RetryAfter: mapPause,
			Err: fmt.Errorf("version %d of the map, which this instance has, is without it", m.Version)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stamp, ok := s.opened[n]; ok {
		return stamp, nil
	}
	stamp, err := s.c.Open(found)
	if err != nil {
		return nil, failure.New(failure.Transient, "open shard", fmt.Sprint(n), err)
	}
	s.opened[n] = &stamp
	return &stamp, nil
}

// refresh reads the map, unless that was begun after a time. It keeps the map that is
// there if there is no newer one.
func (s *Shards) refresh(ctx context.Context, unless time.Time) {
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.reading }()
	if s.tried.After(unless) {
		return
	}
	s.tried = s.c.Now()
	// It is for all, not only for whoever comes first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mapPatience)
	defer cancel()
	m, _, err := s.read(ctx)
	had := s.current.Load()
	switch {
	case err == nil && had != nil && m.Version < had.m.Version:
		err = fmt.Errorf("version %d is stored, older than version %d, which goes on", m.Version, had.m.Version)
	case err == nil:
		s.current.Store(&copied{m, s.tried})
	case had == nil:
		s.current.Store(&copied{m: s.c.Alone})
	}
	if failing := err != nil; failing != s.failing {
		s.failing = failing
		if failing {
			s.c.Logger.WarnContext(ctx, "the map of the shards can't be read; the one that is here goes on", "error", err)
		} else {
			s.c.Logger.InfoContext(ctx, "the map of the shards is read again", "version", m.Version)
		}
	}
}

// read reads the stored map, which is valid, and its ETag, which is "" where none was
// ever stored.
func (s *Shards) read(ctx context.Context) (*shard.Map, string, error) {
	m, etag, err := s.c.Maps.Read(ctx)
	if failure.Is(err, failure.NotFound) {
		return s.c.Alone, "", nil
	}
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the map of the shards: %w", err)
	}
	return m, etag, nil
}

// Change makes an operator's change to the stored map, and returns the map after it and what it did,
// in words; made is false for what was so already. The error is a shard.RefusedError for
// what can't be done, also because another was quicker.
func (s *Shards) Change(ctx context.Context, c shard.Change, by, why string) (m *shard.Map, said string, made bool, err error) {
	base, etag, err := s.read(ctx)
	if err != nil {
		return nil, "", false, err
	}
	m, said, err = base.Apply(c, s.c.Now().UTC().Truncate(time.Millisecond), by, why)
	if err != nil {
		return nil, "", false, err
	}
	if m == base {
		return m, said, false, nil
	}
	if c.Act == shard.ActAdd || c.Act == shard.ActApp {
		n := c.Shard
		if c.Act == shard.ActAdd {
			n = m.Shards[len(m.Shards)-1].Number
		}
		of, _ := m.Shard(n)
		if err := s.there(ctx, c.Act, of); err != nil {
			return nil, "", false, err
		}
	}
	err = s.c.Maps.Write(ctx, m, etag)
	if failure.Is(err, failure.Conflict) {
		err = s.quicker(ctx, m)
	}
	if err != nil {
		return nil, "", false, fmt.Errorf("change the map of the shards: %w", err)
	}
	s.refresh(ctx, s.c.Now())
	return m, said, true, nil
}

// quicker returns nil if it was this very change that came before itself: a write whose
// answer is lost is repeated.
func (s *Shards) quicker(ctx context.Context, m *shard.Map) error {
	stored, _, err := s.read(ctx)
	if err != nil {
		return err
	}
	for _, e := range stored.History {
		switch {
		case e.Version != m.Version:
		case e == m.History[len(m.History)-1]:
			return nil
		default:
			return shard.RefusedError(fmt.Sprintf("%s was quicker: %s (%s); look at the shards, and repeat what is still to be done", e.By, e.Change, e.Why))
		}
	}
	return shard.RefusedError("the map was changed by another meanwhile; look at the shards, and repeat what is still to be done")
}

func (s *Stamp) close(ctx context.Context) error {
	if s.Close == nil {
		return nil
	}
	return s.Close(ctx)
}

// Close closes the shards that were opened.
func (s *Shards) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for n, stamp := range s.opened {
		if err := stamp.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close shard %d: %w", n, err))
		}
	}
	clear(s.opened)
	return errors.Join(errs...)
}
