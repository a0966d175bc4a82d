package ingest

import (
	"errors"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

const day = 24 * time.Hour

// longLived has a front, and in the second shard the transaction of a client's id, whose caller was
// moved to the first. What the directory keeps expires.
func longLived(t *testing.T) (*site, *front, Result) {
	t.Helper()
	s, f := two(t)
	s.requests.now = func() time.Time { return s.now }
	first := accepted(t)(f.Put(t.Context(), "order-1", input(`{"a":1}`)))
	s.store(2, "order-1")
	p := s.stamps[2].transactions.documents["order-1"]
	p.Operations[0].ID, p.AcceptedAt = first.OperationID, workflow.At(s.now)
	s.change(f, pin("ann", 1))
	s.expect("the first request", 0, 1)
	return s, f, first
}

// pass lets days go by, with Sweep once a day.
func (s *site) pass(f *front, days int) {
	s.t.Helper()
	for range days {
		s.now = s.now.Add(day)
		if err := f.RenewPlaces(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Ensure that the repeat of a Put finds its transaction at the end of its entry's life, and
// after it, wherever its caller is placed by then: the entry outlives the document.
func TestRepeatedPutAtTheEndOfItsEntrysLife(t *testing.T) {
	s, f, first := longLived(t)
	p := s.stamps[2].transactions.documents["order-1"]
	p.State = workflow.Stuck
	first.Repeated = true
	for at := 0; at < 400; at += 25 {
		again, err := s.front().Put(t.Context(), "order-1", input(`{"a":1}`))
		want(t, again, err, first)
		if _, err := s.front().Put(t.Context(), "order-1", input(`{"a":2}`)); !errors.Is(err, ErrOtherContent) {
			t.Errorf("day %d, another content: %v", at, err)
		}
		s.pass(f, 25)
	}
	s.expect("repeats", 0, 1)
	// Day 400: an operator gives it up, and its document lives as long as any.
	p.State = workflow.GivenUp
	s.pass(f, 29)
	again, err := s.front().Put(t.Context(), "order-1", input(`{"a":1}`))
	want(t, again, err, first)
	s.expect("the last repeat", 0, 1)
	// It was renewed once in Keep/2, not each day.
	if n := s.requests.writes; n > 1+400/15 {
		t.Errorf("%d writes", n)
	}
}

// Ensure that who changes a transaction after long has its entry renewed, and that what was
// accepted lately costs no look at the directory.
func TestAChangeRenewsTheEntry(t *testing.T) {
	s, f, _ := longLived(t)
	ctx, ok := t.Context(), accepted(t)
	s.requests.fail["read"] = errAway
	ok(f.Patch(ctx, "order-1", input(`{"a":2}`), ""))
	s.requests.fail["read"] = nil
	for range 6 { // until day 240
		s.now = s.now.Add(40 * day)
		ok(f.Patch(ctx, "order-1", input(`{"a":2}`), ""))
	}
	s.now = s.now.Add(ahead + keep)
	ok(f.Delete(ctx, "order-1", input(""), ""))
	s.requests.fail["replace"] = errAway
	s.now = s.now.Add(16 * day)
	if _, err := f.Patch(ctx, "order-1", input(`{"a":2}`), ""); !errors.Is(err, errAway) {
		t.Errorf("without the directory: %v", err)
	}
	s.expect("changes", 0, 9)
}

// Ensure that an id whose document has expired begins anew where it was, and that nothing
// is known of what it was before.
func TestAnIDBeginsAnew(t *testing.T) {
	s, f, first := longLived(t)
	ctx, ok := t.Context(), accepted(t)
	s.now = s.now.Add(keep + day)
	delete(s.stamps[2].transactions.documents, "order-1")
	if _, err := f.progress.Get(ctx, "order-1", "ann"); !failure.Is(err, failure.NotFound) {
		t.Errorf("what is forgotten: %v", err)
	}
	if _, err := f.Delete(ctx, "order-1", input(""), ""); !failure.Is(err, failure.NotFound) {
		t.Errorf("a change of what is forgotten: %v", err)
	}
	anew := ok(f.Put(ctx, "order-1", input(`{"a":7}`)))
	if anew.Repeated || anew.OperationID == first.OperationID {
		t.Errorf("%+v", anew)
	}
	s.expect("anew", 0, 2)
	if e := s.sent(2)[1]; !e.AcceptedAt.Equal(s.now) {
		t.Errorf("its event is of %v", e.AcceptedAt)
	}
	again := ok(s.front().Put(ctx, "order-1", input(`{"a":7}`)))
	if !again.Repeated || again.OperationID != anew.OperationID {
		t.Errorf("%+v", again)
	}
	if _, err := f.Put(ctx, "order-1", input(`{"a":1}`)); !errors.Is(err, ErrOtherContent) {
		t.Errorf("the content of before: %v", err)
	}
}

// Ensure that Sweep's look goes on after a failure, and leaves alone what has no entry of
// that kind.
func TestRenewPlacesAgain(t *testing.T) {
	s, f, _ := longLived(t)
	minted := accepted(t)(f.Post(t.Context(), input(`{"a":1}`), "")).TransactionID
	for _, id := range []string{"order-1", minted} {
		s.store(2, id)
		p := s.stamps[2].transactions.documents[id]
		p.State, p.AcceptedAt = workflow.Compensating, workflow.At(s.now)
	}
	s.now = s.now.Add(20 * day)
	s.stamps[2].transactions.fail = errAway
	if err := f.RenewPlaces(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("with the shard away: %v", err)
	}
	s.stamps[2].transactions.fail = nil
	writes := s.requests.writes
	for range 2 {
		if err := f.RenewPlaces(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.requests.writes - writes; n != 1 {
		t.Errorf("%d entries were renewed", n)
	}
	if r := s.requests.kept["order-1"]; r.Shard != 2 || !r.KeptUntil.Equal(s.now.Add(ahead+3*keep)) || r.TTL != int((ahead+3*keep)/time.Second) {
		t.Errorf("%+v", r)
	}
	reads := s.stamps[2].transactions.reads
	if err := f.RenewPlaces(t.Context()); err != nil || s.stamps[2].transactions.reads != reads {
		t.Errorf("again at once: %v, %d reads", err, s.stamps[2].transactions.reads-reads)
	}
}
