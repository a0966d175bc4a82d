package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Log takes the events. Append returns nil when the event is durable; see
// Writer for its errors.
type Log interface {
	Append(ctx context.Context, e Event) error
}

// Transactions reads the documents of transactions; workflow.Store does.
type Transactions interface {
	// Read returns the document and its ETag. NotFound if there is none.
	Read(ctx context.Context, id string) (*workflow.Progress, string, error)
}

// Config is what a Service needs. All fields must be set.
type Config struct {
	Known Known // and Known.Shards, which has what is sent to
	// Past reports whether p is past an operation of that kind, and why.
	Past func(p *workflow.Progress, kind workflow.OperationKind, now time.Time) (reason string, past bool)
	Now  func() time.Time
}

// Service accepts requests, whose ids, keys and bodies are validated. It is safe for concurrent use.
type Service struct {
	c       Config
	renewed atomic.Pointer[time.Time] // when RenewPlaces has succeeded
}

// New returns a Service.
func New(c Config) *Service { return &Service{c: c} }

// Input is what comes with a request.
type Input struct {
	// Caller is an opaque id of who asks, "" when callers are not known. What
	// begins with it is its alone; see workflow.Owns.
	Caller      string
	TraceParent string
	// Body is the canonical form of the body; nil for a cancel.
	Body json.RawMessage
}

// Result is an accepted request.
type Result struct {
	TransactionID string
	OperationID   string
	// Repeated is true for a request that was accepted before.
	Repeated bool
}

// Post accepts a new transaction under an id that it mints. With a key a repeat
// gets the ids of the first request, and another content ErrKeyReused.
func (s *Service) Post(ctx context.Context, in Input, key string) (Result, error) {
	if key != "" {
		if kept, found, err := s.ofOldKey(ctx, in, key); err != nil {
			return Result{}, err
		} else if found {
			return s.send(ctx, kept, in, true)
		}
	}
	r, err := s.place(ctx, in, nil)
	if err != nil {
		return Result{}, err
	}
	if key == "" {
		return s.sendAnywhere(ctx, r, in)
	}
	id := r.TransactionID
	r.ID = KeyPrefix + keyID(in.Caller, key)
	kept, err := s.c.Known.Requests.CreateIfAbsent(ctx, r)
	if err != nil {
		return Result{}, fmt.Errorf("keep request %s: %w", r.ID, err)
	}
	if !kept.same(r.under(kept.TransactionID, in.Body)) {
		return Result{}, fmt.Errorf("post transaction: %w", ErrKeyReused)
	}
	return s.send(ctx, kept, in, kept.TransactionID != id)
}

// errNoPlace is why a request finds no shard. Nothing was taken.
var errNoPlace = failure.New(failure.Transient, "accept request", "", errors.New("no shard takes new transactions"))

// place makes the record of a request that comes now, under an id that it mints in a shard for
// the caller, other than those.
func (s *Service) place(ctx context.Context, in Input, without []shard.Number) (RequestRecord, error) {
	at, ok := s.c.Known.Shards.Place(ctx, in.Caller, without...)
	if !ok {
		return RequestRecord{}, errNoPlace
	}
	id, err := s.c.Known.Mint.New(shard.TransactionIDs, in.Caller, at)
	if err != nil {
		return RequestRecord{}, fmt.Errorf("accept request: %w", err)
	}
	return s.request(id, id, at, workflow.OperationStart, in)
}

// sendAnywhere sends what nobody knows of yet: where a shard doesn't take it, another one is
// asked, under another id.
func (s *Service) sendAnywhere(ctx context.Context, r RequestRecord, in Input) (Result, error) {
	for refused := []shard.Number(nil); ; {
		result, err := s.send(ctx, r, in, false)
		if !untaken(err) || ctx.Err() != nil {
			return result, err
		}
		refused = append(refused, r.Shard)
		next, nowhere := s.place(ctx, in, refused)
		if nowhere != nil {
			return Result{}, err
		}
		r = next
	}
}

// ofOldKey looks for what an older version kept for the same request of a key. Its
// transaction's id was the key's, which anyone could choose in a Put: what is not
// the same was not meant with the key.
func (s *Service) ofOldKey(ctx context.Context, in Input, key string) (kept RequestRecord, found bool, err error) {
	id := keyID(in.Caller, key)
	kept, err = s.c.Known.recent(ctx, id)
	switch {
	case failure.Is(err, failure.NotFound):
		return kept, false, nil
	case err != nil:
		return kept, false, fmt.Errorf("look for request %s: %w", id, err)
	}
	now := RequestRecord{Operation: workflow.OperationStart, Caller: in.Caller}.under(id, in.Body)
	return kept, kept.same(now), nil
}

// Put accepts a new transaction under the client's id, which may be one that was
// minted for this caller, and no other of that form: NotFound. A repeat gets the same
// result again, another content ErrOtherContent, and so does another caller,
// whatever its content: that the id is taken is all that it learns.
func (s *Service) Put(ctx context.Context, id string, in Input) (Result, error) {
	at, placed, err := s.c.Known.place(ctx, id, in.Caller)
	if err != nil {
		return Result{}, fmt.Errorf("put transaction %s: %w", id, err)
	}
	p, err := s.c.Known.read(ctx, at, id)
	absent := failure.Is(err, failure.NotFound)
	if err != nil && !absent {
		return Result{}, fmt.Errorf("put transaction %s: %w", id, err)
	}
	if absent && !placed {
		if at, placed = s.c.Known.Shards.Place(ctx, in.Caller); !placed {
			return Result{}, errNoPlace
		}
	}
	r, err := s.request(id, id, at, workflow.OperationStart, in)
	if err != nil {
		return Result{}, err
	}
	if absent {
		if s.c.Known.forged(id, in.Caller) {
			return Result{}, failure.New(failure.NotFound, "put transaction", id, errors.New("it looks like a minted id but was not minted for this caller"))
		}
		return s.keepAndSend(ctx, r, in, ErrOtherContent)
	}
	kept, err := s.c.Known.recent(ctx, id)
	switch {
	case err != nil && !failure.Is(err, failure.NotFound):
		return Result{}, fmt.Errorf("put transaction %s: %w", id, err)
	case err != nil || !kept.same(r):
		return s.known(ctx, p, r, in)
	case p.Operation(kept.OperationID) != nil: // nothing is to be sent for it any more
		return Result{TransactionID: id, OperationID: kept.OperationID, Repeated: true}, nil
	}
	return s.send(ctx, kept, in, true)
}

// known answers a Put for a transaction whose document is here though this
// request was not kept: its client repeats a Post that was not acknowledged, under
// the id that it was given. The delivery may be on record, whatever was asked of
// the transaction since, or it is not, and something else that was asked of the
// transaction was faster.
func (s *Service) known(ctx context.Context, p *workflow.Progress, r RequestRecord, in Input) (Result, error) {
	i := slices.IndexFunc(p.Operations, func(o workflow.OperationRecord) bool { return o.Kind == workflow.OperationStart })
	if i < 0 {
		return s.keepAndSend(ctx, r, in, ErrOtherContent)
	}
	delivery := p.Operations[i]
	same := delivery.Hash == r.Hash
	if delivery.Hash == "" { // an older version received it: only the current request is known
		same = p.Revision <= 1 && workflow.SameJSON(p.Request, in.Body)
	}
	if !same || !workflow.Owns(p.Caller, in.Caller) {
		return Result{}, fmt.Errorf("put transaction %s: %w", p.ID, ErrOtherContent)
	}
	return Result{TransactionID: p.ID, OperationID: delivery.ID, Repeated: true}, nil
}

// keepAndSend keeps a request before its event is sent. other is the error for
// one that was kept with another content.
func (s *Service) keepAndSend(ctx context.Context, r RequestRecord, in Input, other error) (Result, error) {
	if s.c.Known.Shards.closed(ctx, r.Shard) {
		return Result{}, &ShardClosedError{r.TransactionID, r.Shard}
	}
	kept, err := s.c.Known.Requests.CreateIfAbsent(ctx, r)
	if err == nil && s.c.Known.over(kept) {
		kept, err = s.keepAnew(ctx, r, kept)
	}
	if err != nil {
		return Result{}, fmt.Errorf("keep request %s: %w", r.ID, err)
	}
	if !kept.same(r) {
		return Result{}, fmt.Errorf("%s transaction %s: %w", r.Operation, r.TransactionID, other)
	}
	s.c.Known.Shards.remember(kept.TransactionID, kept.Shard)
	return s.send(ctx, kept, in, kept.OperationID != r.OperationID)
}

// keepAnew keeps a request whose id was used so long ago that nothing but its place is
// known, and returns the one that is kept then.
func (s *Service) keepAnew(ctx context.Context, r, old RequestRecord) (RequestRecord, error) {
	r.Shard, r.ETag = old.Shard, old.ETag
	err := s.c.Known.Requests.Replace(ctx, r)
	if failure.Is(err, failure.Conflict) { // by another, or by this very request
		return s.c.Known.recent(ctx, r.ID)
	}
	return r, err
}

// request makes the record of a request that comes now.
func (s *Service) request(id, transactionID string, at shard.Number, kind workflow.OperationKind, in Input) (RequestRecord, error) {
	operationID, err := s.c.Known.Mint.New(shard.OperationIDs, operationOf(transactionID, in.Caller), at)
	if err != nil {
		return RequestRecord{}, fmt.Errorf("accept request: %w", err)
	}
	r := RequestRecord{
		ID: id, TransactionID: transactionID, OperationID: operationID, Operation: kind,
		Hash: workflow.Hash(kind, transactionID, in.Body), Caller: in.Caller, Shard: at,
		AcceptedAt: s.c.Now().UTC().Truncate(time.Millisecond), TTL: int(s.c.Known.Keep / time.Second),
	}
	if r.places() {
		r.keepFor(s.c.Known.Lasting(), r.AcceptedAt)
	}
	return r, nil
}

// send puts the request's event into the log of its shard. A repeat has the ids and the time
// of the first, so that its event is the same.
func (s *Service) send(ctx context.Context, r RequestRecord, in Input, repeated bool) (Result, error) {
	if s.c.Known.Shards.closed(ctx, r.Shard) {
		return s.inClosed(ctx, r, repeated)
	}
	to, err := s.c.Known.Shards.At(ctx, r.Shard)
	if err != nil {
		return Result{}, fmt.Errorf("%s transaction %s: %w: %w", r.Operation, r.TransactionID, errUntaken, err)
	}
	body, err := engine.Envelope{
		Schema: engine.EnvelopeSchema, TransactionID: r.TransactionID, OperationID: r.OperationID,
		Operation: string(r.Operation), AcceptedAt: r.AcceptedAt, Caller: r.Caller,
		TraceParent: in.TraceParent, Body: in.Body, Shard: r.Shard,
	}.Encode()
	if err != nil {
		return Result{}, failure.New(failure.Invalid, "encode request", r.TransactionID, err)
	}
	err = to.Log.Append(ctx, Event{TransactionID: r.TransactionID, Body: body, TraceParent: in.TraceParent})
	if errors.Is(err, ErrRefusing) { // so the map that is here doesn't fit
		s.c.Known.Shards.refresh(ctx, s.c.Now().Add(-mapPause))
	}
	if errors.Is(err, ErrUnacknowledged) {
		return Result{}, &UnacknowledgedError{r.TransactionID, r.OperationID, err}
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s transaction %s: %w", r.Operation, r.TransactionID, err)
	}
	return Result{TransactionID: r.TransactionID, OperationID: r.OperationID, Repeated: repeated}, nil
}

// inClosed answers a request to a closed shard: the repeat of one that is on record there
// is answered as the first was.
func (s *Service) inClosed(ctx context.Context, r RequestRecord, repeated bool) (Result, error) {
	if repeated {
		p, err := s.c.Known.read(ctx, r.Shard, r.TransactionID)
		switch {
		case err == nil && p.Operation(r.OperationID) != nil:
			return Result{TransactionID: r.TransactionID, OperationID: r.OperationID, Repeated: true}, nil
		case err != nil && !failure.Is(err, failure.NotFound):
			return Result{}, fmt.Errorf("%s transaction %s: %w", r.Operation, r.TransactionID, err)
		}
	}
	return Result{}, &ShardClosedError{r.TransactionID, r.Shard}
}
