package queue

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

var start = time.Unix(1e9, 0).UTC()

func testQueue(change func(*Config)) *Queue {
	cfg := Config{LockDuration: time.Minute, MaxDeliveryCount: 10}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func message(id string) Message { return Message{ID: id, Body: []byte(id)} }

// mustReceive locks the next message of sub and wants it to be id.
func mustReceive(t *testing.T, q *Queue, now time.Time, sub Sub, id string) Received {
	t.Helper()
	r, _, ok := q.Receive(now, sub, PeekLock)
	if !ok || r.ID != id {
		t.Fatalf("received %q, %v, want %q", r.ID, ok, id)
	}
	return r
}

func wantCounts(t *testing.T, q *Queue, want Counts) {
	t.Helper()
	if got := q.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestOrderSurvivesRelease(t *testing.T) {
	q := testQueue(nil)
	q.Enqueue(start, message("a"), message("b"), message("c"))
	a := mustReceive(t, q, start, Main, "a")
	b := mustReceive(t, q, start, Main, "b")
	for _, r := range []Received{b, a} {
		if _, err := q.Release(start, Main, r.Token); err != nil {
			t.Fatal(err)
		}
	}
	if r := mustReceive(t, q, start, Main, "a"); r.DeliveryCount != 0 {
		t.Errorf("releasing counted: %d", r.DeliveryCount)
	}
	mustReceive(t, q, start, Main, "b")
	mustReceive(t, q, start, Main, "c")
}

func TestDeliveryCountUntilDeadLetter(t *testing.T) {
	for name, fail := range map[string]func(*Queue, time.Time, Token) time.Time{
		"abandon": func(q *Queue, now time.Time, tok Token) time.Time {
			if _, err := q.Abandon(now, Main, tok, nil); err != nil {
				t.Fatal(err)
			}
			return now
		},
		"lock runs out": func(_ *Queue, now time.Time, _ Token) time.Time { return now.Add(time.Minute) },
	} {
		q := testQueue(func(c *Config) { c.MaxDeliveryCount = 3 })
		q.Enqueue(start, message("a"))
		now := start
		for i := range uint32(3) {
			r := mustReceive(t, q, now, Main, "a")
			if r.DeliveryCount != i {
				t.Fatalf("%s: delivery %d has count %d", name, i, r.DeliveryCount)
			}
			now = fail(q, now, r.Token)
		}
		q.Advance(now)
		wantCounts(t, q, Counts{DeadLetter: 1})
		r := mustReceive(t, q, now, DeadLetter, "a")
		if r.DeliveryCount != 3 || r.DeadLetter == nil || r.DeadLetter.Reason != ReasonMaxDeliveryCount || r.SequenceNumber != 1 {
			t.Errorf("%s: dead letter %+v", name, r)
		}
		// There it stays, however often it is given back.
		for range 20 {
			if _, err := q.Abandon(now, DeadLetter, r.Token, nil); err != nil {
				t.Fatal(err)
			}
			if r = mustReceive(t, q, now, DeadLetter, "a"); r.DeliveryCount != 3 {
				t.Fatalf("%s: abandoning counted in the dead-letter sub-queue", name)
			}
		}
	}
}

func TestLockEndsToTheInstant(t *testing.T) {
	q := testQueue(nil)
	q.Enqueue(start, message("a"))
	r := mustReceive(t, q, start, Main, "a")
	if at, ok := q.NextDue(); !ok || !at.Equal(start.Add(time.Minute)) {
		t.Errorf("due at %v, %v", at, ok)
	}
	last := start.Add(time.Minute - 1)
	until, _, err := q.Renew(last, Main, r.Token)
	if err != nil || !until.Equal(last.Add(time.Minute)) {
		t.Fatalf("renewed until %v, %v", until, err)
	}
	if _, err := q.Complete(until, Main, r.Token); !errors.Is(err, ErrLockLost) {
		t.Errorf("complete at the end of the lock: %v", err)
	}
	if _, err := q.Complete(start, DeadLetter, mustReceive(t, q, until, Main, "a").Token); !errors.Is(err, ErrLockLost) {
		t.Errorf("a token of the other sub-queue: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	for _, keep := range []bool{false, true} {
		q := testQueue(func(c *Config) { c.DefaultTTL, c.DeadLetterOnExpiry = time.Hour, keep })
		long, short := message("ceiling"), message("short")
		long.TTL, short.TTL = 10*time.Hour, time.Minute
		q.Enqueue(start, long, short, message("locked"), message("deferred"))
		var tokens []Token
		for _, id := range []string{"ceiling", "short", "locked", "deferred"} {
			tokens = append(tokens, mustReceive(t, q, start, Main, id).Token)
		}
		q.Release(start, Main, tokens[0])
		q.Release(start, Main, tokens[1])
		q.Defer(start, Main, tokens[3], nil)
		dead := 0
		if keep {
			dead = 1
		}
		// Renewed, the locked one outlives its time until the lock ends.
		now := start.Add(time.Minute - 1)
		if _, _, err := q.Renew(now, Main, tokens[2]); err != nil {
			t.Fatal(err)
		}
		// The time to live is judged by receiving, too: "short" is not here.
		mustReceive(t, q, start.Add(time.Minute), Main, "ceiling")
		for now.Before(start.Add(time.Hour)) {
			if _, _, err := q.Renew(now, Main, tokens[2]); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute - 1)
		}
		q.Advance(now)
		wantCounts(t, q, Counts{Locked: 1, Deferred: 1, DeadLetter: dead * 2})
		q.Abandon(now, Main, tokens[2], nil)
		wantCounts(t, q, Counts{Deferred: 1, DeadLetter: dead * 3})
		// A deferred one stays until somebody asks for it.
		if _, _, err := q.ReceiveDeferred(now, Main, PeekLock, 4); !errors.Is(err, ErrNotFound) {
			t.Errorf("received an expired message: %v", err)
		}
		wantCounts(t, q, Counts{DeadLetter: dead * 4})
		if r, _, ok := q.Receive(now.Add(1000*time.Hour), DeadLetter, ReceiveAndDelete); ok != keep ||
			keep && r.DeadLetter.Reason != ReasonTTLExpired {
			t.Errorf("dead letter %+v, %v", r, ok)
		}
	}
}

func TestScheduleGetsANewNumber(t *testing.T) {
	q := testQueue(nil)
	later := message("later")
	later.EnqueueAt, later.TTL = start.Add(time.Hour), time.Minute
	past := message("past")
	past.EnqueueAt = start.Add(-time.Hour)
	seqs, _ := q.Enqueue(start, later, past, message("now"))
	if !slices.Equal(seqs, []int64{1, 2, 3}) {
		t.Fatalf("numbers %v", seqs)
	}
	wantCounts(t, q, Counts{Active: 2, Scheduled: 1})
	for range 2 {
		q.Receive(start, Main, ReceiveAndDelete)
	}
	// Its time to live begins when it appears.
	r := mustReceive(t, q, start.Add(time.Hour), Main, "later")
	if r.SequenceNumber != 4 || !r.EnqueuedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("the scheduled message came as %d, enqueued %v", r.SequenceNumber, r.EnqueuedAt)
	}
	if _, err := q.Cancel(start.Add(time.Hour), 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("cancel a message that has appeared: %v", err)
	}
}

func TestCancelTakesAllOrNone(t *testing.T) {
	q := testQueue(func(c *Config) { c.DuplicateWindow = time.Hour })
	a, b := message("a"), message("b")
	a.EnqueueAt, b.EnqueueAt = start.Add(time.Minute), start.Add(time.Minute)
	q.Enqueue(start, a, b)
	if _, err := q.Cancel(start, 1, 7); !errors.Is(err, ErrNotFound) {
		t.Errorf("cancel an unknown number: %v", err)
	}
	wantCounts(t, q, Counts{Scheduled: 2})
	if _, err := q.Cancel(start, 1, 2, 1); err != nil {
		t.Errorf("cancel: %v", err)
	}
	q.Enqueue(start, a) // is remembered
	wantCounts(t, q, Counts{})
}

func TestDuplicates(t *testing.T) {
	q := testQueue(func(c *Config) { c.DuplicateWindow = time.Minute })
	seqs, _ := q.Enqueue(start, message("a"), message("a"), message("b"))
	if !slices.Equal(seqs, []int64{1, 1, 2}) {
		t.Fatalf("numbers %v", seqs)
	}
	q.Receive(start, Main, ReceiveAndDelete)
	q.Enqueue(start.Add(time.Minute-1), message("a")) // still known, though completed
	wantCounts(t, q, Counts{Active: 1})
	q.Enqueue(start.Add(time.Minute), message("a"))
	wantCounts(t, q, Counts{Active: 2})
	// The repeat counts from its own time.
	q.Enqueue(start.Add(2*time.Minute-1), message("a"))
	wantCounts(t, q, Counts{Active: 2})
}

func TestHistoryForgetsInOrder(t *testing.T) {
	q := testQueue(func(c *Config) { c.DuplicateWindow = time.Minute })
	for i := range 1000 {
		q.Enqueue(start.Add(time.Duration(i)*time.Second), message(fmt.Sprint(i)))
		if n := len(q.seen.ids); n != min(i+1, 60) {
			t.Fatalf("%d ids are remembered after %d s", n, i)
		}
	}
	if n := len(q.seen.order); n > 200 {
		t.Errorf("%d ids are kept for 60 remembered ones", n)
	}
}

func TestPeek(t *testing.T) {
	q := testQueue(nil)
	var msgs []Message
	for i := range 10 {
		m := message(fmt.Sprint(i))
		m.Body = make([]byte, 100)
		msgs = append(msgs, m)
	}
	q.Enqueue(start, msgs...)
	for _, c := range []struct {
		from         int64
		limit, bytes int
		want         []int64
	}{
		{0, 3, 0, []int64{1, 2, 3}},
		{9, 5, 0, []int64{9, 10}},
		{11, 5, 0, nil},
		{4, 5, 250, []int64{4, 5}},
		{4, 5, 10, []int64{4}}, // never nothing
	} {
		got, _ := q.Peek(start, Main, c.from, c.limit, c.bytes)
		var seqs []int64
		for _, r := range got {
			seqs = append(seqs, r.SequenceNumber)
		}
		if !slices.Equal(seqs, c.want) {
			t.Errorf("peek %+v: %v", c, seqs)
		}
	}
}

func TestDeferredSettlement(t *testing.T) {
	q := testQueue(nil)
	q.Enqueue(start, message("a"))
	r := mustReceive(t, q, start, Main, "a")
	q.Defer(start, Main, r.Token, Properties{"p": []byte("1")})
	take := func() Received {
		t.Helper()
		got, _, err := q.ReceiveDeferred(start, Main, PeekLock, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	r = take()
	if r.DeliveryCount != 0 || r.State != Deferred || string(r.Properties["p"]) != "1" {
		t.Errorf("deferred %+v", r)
	}
	if _, _, err := q.ReceiveDeferred(start, Main, PeekLock, 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("received a locked one: %v", err)
	}
	q.Abandon(start, Main, r.Token, nil)
	wantCounts(t, q, Counts{Deferred: 1})
	r = take()
	if r.DeliveryCount != 1 {
		t.Errorf("abandoning counted %d", r.DeliveryCount)
	}
	if _, err := q.DeadLetter(start, Main, r.Token, Reason{"r", "d"}, nil); err != nil {
		t.Fatal(err)
	}
	// There it is an ordinary message.
	if r = mustReceive(t, q, start, DeadLetter, "a"); *r.DeadLetter != (Reason{"r", "d"}) || r.State != Active {
		t.Errorf("dead letter %+v", r)
	}
	if _, err := q.DeadLetter(start, DeadLetter, r.Token, Reason{}, nil); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("dead-letter twice: %v", err)
	}
}
