package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// fakeProducer is a hub in memory. Its hooks are called without the lock.
type fakeProducer struct {
	partitions []string
	latency    time.Duration
	// onPartitions and onSend may fail or block an operation.
	onPartitions func(ctx context.Context) error
	onSend       func(ctx context.Context, partition string, events []Event) error

	mu       sync.Mutex
	reads    int
	batches  map[string][][]Event // by partition, the acknowledged ones
	inFlight map[string]int
	overlaps int // sends of one partition that overlapped
}

func newFakeProducer(partitions ...string) *fakeProducer {
	return &fakeProducer{partitions: partitions, batches: map[string][][]Event{}, inFlight: map[string]int{}}
}

func (p *fakeProducer) Partitions(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	p.reads++
	p.mu.Unlock()
	if p.onPartitions != nil {
		if err := p.onPartitions(ctx); err != nil {
			return nil, err
		}
	}
	return slices.Clone(p.partitions), nil
}

func (p *fakeProducer) Send(ctx context.Context, partition string, events []Event) error {
	p.enter(partition, +1)
	defer p.enter(partition, -1)
	if p.latency > 0 {
		select {
		case <-time.After(p.latency):
		case <-ctx.Done():
			return failure.New(failure.Transient, "send", partition, ctx.Err())
		}
	}
	if p.onSend != nil {
		if err := p.onSend(ctx, partition, events); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches[partition] = append(p.batches[partition], slices.Clone(events))
	return nil
}

func (p *fakeProducer) enter(partition string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight[partition] += n; p.inFlight[partition] > 1 {
		p.overlaps++
	}
}

// sending returns the partitions that a batch is in flight to.
func (p *fakeProducer) sending() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for id, n := range p.inFlight {
		if n > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// sizes returns how many events each batch of a partition had.
func (p *fakeProducer) sizes(partition string) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var n []int
	for _, b := range p.batches[partition] {
		n = append(n, len(b))
	}
	return n
}

// fakeRequests keeps requests in memory. fail makes the named operation fail.
type fakeRequests struct {
	mu   sync.Mutex
	kept map[string]RequestRecord
	fail map[string]error
	// now, if it is set, lets what is kept expire.
	now     func() time.Time
	expires map[string]time.Time
	writes  int
}

func newFakeRequests() *fakeRequests {
	return &fakeRequests{kept: map[string]RequestRecord{}, fail: map[string]error{}, expires: map[string]time.Time{}}
}

// get returns a request that has not expired, with its ETag. f.mu is held.
func (f *fakeRequests) get(id string) (RequestRecord, bool) {
	if f.now != nil && f.now().After(f.expires[id]) {
		delete(f.kept, id)
	}
	r, ok := f.kept[id]
	return r, ok
}

// set keeps a request as a document. f.mu is held.
func (f *fakeRequests) set(r RequestRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var kept RequestRecord
	err = json.Unmarshal(text, &kept)
	f.writes++
	kept.ETag = fmt.Sprint(f.writes)
	f.kept[r.ID] = kept
	if f.now != nil {
		f.expires[r.ID] = f.now().Add(time.Duration(r.TTL) * time.Second)
	}
	return err
}

func (f *fakeRequests) Replace(_ context.Context, r RequestRecord) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch kept, ok := f.get(r.ID); {
	case f.fail["replace"] != nil:
		return f.fail["replace"]
	case !ok:
		return failure.New(failure.NotFound, "replace request", r.ID, nil)
	case kept.ETag != r.ETag:
		return failure.New(failure.Conflict, "replace request", r.ID, nil)
	}
	return f.set(r)
}

func (f *fakeRequests) CreateIfAbsent(_ context.Context, r RequestRecord) (RequestRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["create"]; err != nil {
		return RequestRecord{}, err
	}
	if kept, ok := f.get(r.ID); ok {
		return kept, nil
	}
	return r, f.set(r)
}

func (f *fakeRequests) Read(_ context.Context, id string) (RequestRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["read"]; err != nil {
		return RequestRecord{}, err
	}
	if kept, ok := f.get(id); ok {
		return kept, nil
	}
	return RequestRecord{}, failure.New(failure.NotFound, "read request", id, nil)
}

// fakeTransactions has the documents of transactions.
type fakeTransactions struct {
	documents map[string]*workflow.Progress
	fail      error
	reads     int
}

func (f *fakeTransactions) Read(_ context.Context, id string) (*workflow.Progress, string, error) {
	f.reads++
	if f.fail != nil {
		return nil, "", f.fail
	}
	if p, ok := f.documents[id]; ok {
		return p, "etag", nil
	}
	return nil, "", failure.New(failure.NotFound, "read transaction", id, nil)
}

// fakeMint makes ids that can be foretold, and knows them by their form.
type fakeMint struct {
	minted int
	fail   error
}

func (m *fakeMint) New(shard.IDKind, string, shard.Number) (string, error) {
	m.minted++
	return fmt.Sprintf("m-%d", m.minted), m.fail
}

func (m *fakeMint) At(_ shard.IDKind, _, id string) (time.Time, bool) {
	return noon, strings.HasPrefix(id, "m-")
}

// fakeMaps keeps the map in memory, or fails.
type fakeMaps struct {
	mu     sync.Mutex
	stored *shard.Map
	reads  int
	fail   error
}

func (f *fakeMaps) Read(context.Context) (*shard.Map, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	switch {
	case f.fail != nil:
		return nil, "", f.fail
	case f.stored == nil:
		return nil, "", failure.New(failure.NotFound, "read map", "", nil)
	}
	return f.stored, fmt.Sprint(f.stored.Version), nil
}

func (f *fakeMaps) Write(_ context.Context, m *shard.Map, etag string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stored == nil && etag != "" || f.stored != nil && etag != fmt.Sprint(f.stored.Version) {
		return failure.New(failure.Conflict, "write map", "", nil)
	}
	f.stored = m
	return nil
}

// put stores a map, and returns the one that was there.
func (f *fakeMaps) put(m *shard.Map) (before *shard.Map) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.stored = f.stored, m
	return before
}

// oneShard is a system that never had another shard.
func oneShard(home Stamp) *Shards {
	return NewShards(ShardsConfig{
		Maps: &fakeMaps{}, Alone: shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"}), Home: home,
		Random: func() uint64 { return 0 }, Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler),
	})
}

// fakeLog takes events, or fails.
type fakeLog struct {
	events []Event
	fail   error
}

func (f *fakeLog) Append(_ context.Context, e Event) error {
	if f.fail != nil {
		return f.fail
	}
	f.events = append(f.events, e)
	return nil
}

// Lasting gives one id a page.
func (f *fakeTransactions) Lasting(_ context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	var ids []string
	for id, p := range f.documents {
		if (p.State == workflow.Compensating || p.State == workflow.Stuck) && p.AcceptedAt.Before(before.Time) && id > continuation {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) > 1 {
		return ids[:1], ids[0], f.fail
	}
	return ids, "", f.fail
}
