package queue

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// view is all that there is to know of a message.
type view struct {
	Received
	Sub   Sub
	Token Token
	Body  string
}

// view is what there is of a queue with these records.
func (q *Queue) view(records map[string][]byte) []view {
	var out []view
	for sub := range q.subs {
		q.subs[sub].all.Scan(func(_ int64, e *entry) bool {
			r := e.received()
			body, _ := Body(records[r.Content])
			r.Content = ""
			out = append(out, view{r, e.sub, e.token, string(body)})
			return true
		})
	}
	return out
}

func (m *model) view() []view {
	var out []view
	for _, x := range m.msgs {
		r := Received{
			SequenceNumber: x.seq, ID: x.id, EnqueuedAt: x.enqueued, TTL: x.ttl,
			State: x.state, DeliveryCount: x.count, LockedUntil: x.until,
		}
		if len(x.props) > 0 {
			r.Properties = Properties{}
			for k, v := range x.props {
				r.Properties[k] = []byte(v)
			}
		}
		if x.sub == DeadLetter {
			r.DeadLetter = &x.reason
		}
		out = append(out, view{r, x.sub, x.token, x.body})
	}
	slices.SortFunc(out, func(a, b view) int {
		if a.Sub != b.Sub {
			return int(a.Sub) - int(b.Sub)
		}
		return int(a.SequenceNumber - b.SequenceNumber)
	})
	return out
}

// walker applies random operations to a queue, the model and the records.
type walker struct {
	t       *testing.T
	rnd     *rand.Rand
	now     time.Time
	q       *Queue
	m       *model
	records map[string][]byte
	ever    map[string][]byte // what all records were last
	tokens  []Token
	step    string
}

func TestRandomAgainstModel(t *testing.T) {
	for run := range 6 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			walk(t, rand.New(rand.NewPCG(seed, 1)), 200)
		})
	}
}

func walk(t *testing.T, rnd *rand.Rand, steps int) {
	cfg := Config{
		LockDuration: 5 * time.Second, MaxDeliveryCount: 1 + rnd.IntN(3),
		DeadLetterOnExpiry: rnd.IntN(2) == 0,
		DuplicateWindow:    time.Duration(rnd.IntN(2)) * 20 * time.Second,
		DefaultTTL:         time.Duration(rnd.IntN(2)) * 30 * time.Second,
		NewToken: func() (tok Token) {
			for i := range tok {
				tok[i] = byte(1 + rnd.IntN(255))
			}
			return tok
		},
	}
	w := &walker{
		t: t, rnd: rnd, now: time.Unix(1e9, 0).UTC(), q: New(cfg),
		m: &model{cfg: cfg, seen: map[string]sighting{}}, records: map[string][]byte{}, ever: map[string][]byte{},
	}
	for i := range steps {
		w.now = w.now.Add(time.Duration(rnd.IntN(1500)) * time.Millisecond)
		w.m.advance(w.now)
		w.act()
		w.compare(i)
		if rnd.IntN(40) == 0 {
			w.q = w.rebuilt() // go on with what a restart finds
		}
	}
}

func (w *walker) keep(c Change) {
	for _, r := range c {
		if r.Value == nil {
			delete(w.records, r.Key)
		} else {
			w.records[r.Key] = bytes.Clone(r.Value)
			w.ever[r.Key] = w.records[r.Key]
		}
	}
}

func (w *walker) rebuilt() *Queue {
	q, err := Load(w.q.cfg, maps.All(w.records))
	if err != nil {
		w.t.Fatalf("%s: load: %v", w.step, err)
	}
	return q
}

func (w *walker) compare(step int) {
	w.t.Helper()
	w.step = fmt.Sprintf("step %d: %s", step, w.step)
	want := w.m.view()
	w.same("messages", want, w.q.view(w.records))
	again := w.rebuilt()
	w.same("messages of the rebuilt queue", want, again.view(w.records))
	if again.last != w.m.last || w.q.last != w.m.last {
		w.t.Fatalf("%s: last number is %d, rebuilt %d, want %d", w.step, w.q.last, again.last, w.m.last)
	}
	for _, q := range []*Queue{w.q, again} {
		w.same("remembered ids", w.m.seen, q.seen.ids)
		w.same("counts", w.m.counts(), q.Counts())
		_, wantAt := w.m.next(w.now.Add(1000 * time.Hour))
		if at, _ := q.NextDue(); !at.Equal(wantAt) {
			w.t.Fatalf("%s: next due is %v, want %v", w.step, at, wantAt)
		}
	}
}

// same is quick when want and got are equal; cmp is for telling how they differ.
func (w *walker) same(what string, want, got any) {
	w.t.Helper()
	if !reflect.DeepEqual(want, got) {
		w.t.Fatalf("%s: %s: model (-) and queue (+) differ:\n%s", w.step, what,
			cmp.Diff(want, got, cmp.AllowUnexported(sighting{})))
	}
}

func (w *walker) token() Token {
	if len(w.tokens) == 0 || w.rnd.IntN(20) == 0 {
		return Token{1: 1}
	}
	// Mostly a fresh one.
	n := len(w.tokens)
	return w.tokens[n-1-w.rnd.IntN(min(n, 4))]
}

func (w *walker) check(ok bool, format string, args ...any) {
	w.t.Helper()
	if !ok {
		w.t.Fatalf("%s: %s", w.step, fmt.Sprintf(format, args...))
	}
}

func (w *walker) act() {
	sub := Sub(w.rnd.IntN(4) / 3)
	switch w.rnd.IntN(12) {
	case 0, 1, 2:
		w.enqueue()
	case 3, 4, 5:
		w.receive(sub)
	case 6:
		w.receiveDeferred(sub)
	case 7:
		w.cancel()
	case 8:
		w.step = "advance"
		w.keep(w.q.Advance(w.now))
	case 9:
		w.renew(sub)
	default:
		w.settle(sub)
	}
}

func (w *walker) enqueue() {
	var msgs []Message
	var want []int64
	for range 1 + w.rnd.IntN(2) {
		m := Message{ID: fmt.Sprint(w.rnd.IntN(40)), Body: fmt.Append(nil, "body", w.rnd.IntN(100))}
		if w.rnd.IntN(3) == 0 {
			m.TTL = time.Duration(1+w.rnd.IntN(40)) * time.Second
		}
		if w.rnd.IntN(3) == 0 {
			m.EnqueueAt = w.now.Add(time.Duration(w.rnd.IntN(20)-5) * time.Second)
		}
		msgs = append(msgs, m)
		want = append(want, w.m.enqueue(w.now, m))
	}
	w.step = fmt.Sprintf("enqueue %+v", msgs)
	got, c := w.q.Enqueue(w.now, msgs...)
	w.keep(c)
	w.check(slices.Equal(got, want), "numbers %v, want %v", got, want)
}

func (w *walker) receive(sub Sub) {
	mode := Mode(w.rnd.IntN(4) / 3)
	w.step = fmt.Sprintf("receive %d mode %d", sub, mode)
	x, receive := w.m.first(sub), w.q.Receive
	if w.rnd.IntN(4) == 0 {
		w.step += ", the last"
		x, receive = w.m.latest(sub), w.q.ReceiveLast
	}
	r, c, ok := receive(w.now, sub, mode)
	w.keep(c)
	w.check(ok == (x != nil), "received %v, want %+v", ok, x)
	if ok {
		w.check(r.SequenceNumber == x.seq, "got %d, want %d", r.SequenceNumber, x.seq)
		w.handed(x, r, mode)
	}
	w.check(w.q.Ready(sub) == len(w.m.ready(sub)), "%d are ready, want %d", w.q.Ready(sub), len(w.m.ready(sub)))
}

func (w *walker) handed(x *modelMsg, r Received, mode Mode) {
	body, err := Body(w.ever[r.Content])
	w.check(err == nil && r.DeliveryCount == x.count && string(body) == x.body, "got %+v (%v), want %+v", r, err, x)
	if mode == ReceiveAndDelete {
		w.m.remove(x)
		return
	}
	x.token, x.until = r.Token, w.now.Add(w.m.cfg.LockDuration)
	w.check(r.LockedUntil.Equal(x.until), "locked until %v, want %v", r.LockedUntil, x.until)
	w.tokens = append(w.tokens, r.Token)
}

func (w *walker) receiveDeferred(sub Sub) {
	seq, mode := int64(1), Mode(w.rnd.IntN(2))
	for _, y := range w.m.msgs { // mostly one that is deferred
		if y.state == Deferred && y.sub == sub {
			seq = y.seq
		}
	}
	w.step = fmt.Sprintf("receive deferred %d of %d", seq, sub)
	x := w.m.bySeq(sub, seq)
	found := x != nil && x.state == Deferred && x.token == (Token{})
	if found && sub == Main && x.ttl > 0 && !x.enqueued.Add(x.ttl).After(w.now) {
		w.m.expire(x)
		found = false
	}
	got, c, err := w.q.ReceiveDeferred(w.now, sub, mode, seq, seq)
	w.keep(c)
	w.check((err == nil) == found, "error %v, want found %v", err, found)
	if found {
		w.check(len(got) == 1, "got %d messages", len(got))
		w.handed(x, got[0], mode)
	}
}

func (w *walker) cancel() {
	seq := int64(0)
	for _, y := range w.m.msgs {
		if y.state == Scheduled || seq == 0 {
			seq = y.seq
		}
	}
	w.step = fmt.Sprintf("cancel %d", seq)
	x := w.m.bySeq(Main, seq)
	c, err := w.q.Cancel(w.now, seq)
	w.keep(c)
	found := x != nil && x.state == Scheduled
	w.check((err == nil) == found, "error %v, want found %v", err, found)
	if found {
		w.m.remove(x)
	}
}

func (w *walker) renew(sub Sub) {
	tok := w.token()
	w.step = fmt.Sprintf("renew %x", tok)
	x := w.m.byToken(sub, tok)
	until, c, err := w.q.Renew(w.now, sub, tok)
	w.keep(c)
	w.check((err == nil) == (x != nil), "error %v, want %+v", err, x)
	if x != nil {
		x.until = w.now.Add(w.m.cfg.LockDuration)
		w.check(until.Equal(x.until), "until %v, want %v", until, x.until)
	}
}

func (w *walker) settle(sub Sub) {
	tok, kind := w.token(), w.rnd.IntN(5)
	props := map[string]string{fmt.Sprint(w.rnd.IntN(3)): fmt.Sprint(w.rnd.IntN(3))}
	encoded := Properties{}
	for k, v := range props {
		encoded[k] = []byte(v)
	}
	w.step = fmt.Sprintf("settle %d %x of %d", kind, tok, sub)
	x := w.m.byToken(sub, tok)
	why := Reason{"because", "of that"}
	var c Change
	var err error
	switch kind {
	case 0:
		c, err = w.q.Complete(w.now, sub, tok)
	case 1:
		c, err = w.q.Abandon(w.now, sub, tok, encoded)
	case 2:
		c, err = w.q.Defer(w.now, sub, tok, encoded)
	case 3:
		c, err = w.q.Release(w.now, sub, tok)
	case 4:
		c, err = w.q.DeadLetter(w.now, sub, tok, why, encoded)
		if sub == DeadLetter {
			w.check(err == ErrNotAllowed, "error %v", err)
			w.keep(w.q.Advance(w.now))
			return
		}
	}
	w.keep(c)
	w.check((err == nil) == (x != nil), "error %v, want %+v", err, x)
	if x == nil {
		w.check(err == ErrLockLost, "error %v", err)
		return
	}
	if kind == 1 || kind == 2 || kind == 4 {
		merged := maps.Clone(x.props)
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, props)
		x.props = merged
	}
	switch kind {
	case 0:
		w.m.remove(x)
	case 1:
		w.m.unlock(w.now, x, true)
	case 2:
		x.token, x.until, x.state = Token{}, time.Time{}, Deferred
	case 3:
		w.m.unlock(w.now, x, false)
	case 4:
		w.m.bury(x, why)
	}
}
