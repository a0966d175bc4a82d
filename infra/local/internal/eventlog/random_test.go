package eventlog

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// model is a partition as one slice of all events ever.
type model struct {
	cfg      Config
	events   []modelEvent
	dropped  int // events[:dropped] are gone
	readable int
}

type modelEvent struct {
	event
	batch int // numbers the Append
}

// event is an Event with its body in place of where that is.
type event struct {
	Event
	Body []byte
}

// expire drops whole batches of readable events, as the records are kept.
func (m *model) expire(now time.Time) {
	for m.dropped < m.readable {
		end, size := m.dropped, 0
		for end < len(m.events) && m.events[end].batch == m.events[m.dropped].batch {
			end++
		}
		for _, e := range m.events[m.dropped:] {
			size += len(e.Body)
		}
		old := now.Sub(m.events[m.dropped].EnqueuedAt) >= m.cfg.Retention
		if !old && (m.cfg.MaxBytes == 0 || size <= int(m.cfg.MaxBytes)) {
			return
		}
		m.dropped = end
	}
}

func (m *model) properties() Properties {
	p := Properties{First: int64(m.dropped), Last: int64(m.readable - 1), LastOffset: "-1", Empty: m.dropped == m.readable}
	if m.readable > 0 {
		p.LastOffset, p.LastEnqueuedAt = m.events[m.readable-1].Offset, m.events[m.readable-1].EnqueuedAt
	}
	return p
}

func (m *model) read(next, limit int) []event {
	var out []event
	for _, e := range m.events[min(max(next, m.dropped), m.readable):m.readable] {
		if len(out) == limit {
			break
		}
		out = append(out, e.event)
	}
	return out
}

type walker struct {
	t       *testing.T
	rnd     *rand.Rand
	now     time.Time
	p       *Partition
	m       *model
	offset  int
	batch   int
	pending []int64 // ends of batches to be committed
	records map[string][]byte
	step    string
}

func TestRandomAgainstModel(t *testing.T) {
	for run := range 8 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			cfg := Config{Retention: 30 * time.Second, MaxBytes: int64(rnd.IntN(2)) * 300}
			w := &walker{
				t: t, rnd: rnd, now: time.Unix(1e9, 0).UTC(), p: New(cfg),
				m: &model{cfg: cfg}, records: map[string][]byte{},
			}
			for i := range 300 {
				w.now = w.now.Add(time.Duration(rnd.IntN(2000)) * time.Millisecond)
				w.act()
				w.step = fmt.Sprintf("step %d: %s", i, w.step)
				w.compare(w.p)
				if len(w.pending) == 0 { // what is loaded is committed
					w.compare(w.loaded())
				}
			}
		})
	}
}

func (w *walker) keep(c Change) {
	for _, r := range c {
		if r.Value == nil {
			delete(w.records, r.Key)
		} else {
			w.records[r.Key] = bytes.Clone(r.Value)
		}
	}
}

func (w *walker) loaded() *Partition {
	p, err := Load(w.p.cfg, maps.All(w.records))
	if err != nil {
		w.t.Fatalf("%s: load: %v", w.step, err)
	}
	return p
}

func (w *walker) act() {
	switch w.rnd.IntN(6) {
	case 0:
		w.step = "expire"
		w.m.expire(w.now)
		w.keep(w.p.Expire(w.now))
	case 1, 2:
		w.append()
	case 3:
		w.step = "restart"
		if len(w.pending) == 0 {
			w.p = w.loaded()
		}
	default:
		w.step = "commit"
		if len(w.pending) > 0 {
			w.p.Commit(w.pending[0])
			w.m.readable = int(w.pending[0])
			w.pending = w.pending[1:]
		}
	}
}

func (w *walker) append() {
	var key *string
	if w.rnd.IntN(2) == 0 {
		key = new(string)
		*key = fmt.Sprint(w.rnd.IntN(2))
	}
	var bodies [][]byte
	w.batch++
	for range w.rnd.IntN(5) {
		body := make([]byte, w.rnd.IntN(40))
		e := event{Event{SequenceNumber: int64(len(w.m.events)), Offset: fmt.Sprint(w.offset), EnqueuedAt: w.now}, body}
		if key != nil {
			e.PartitionKey, e.HasKey = *key, true
		}
		w.offset += len(body) + 1
		w.m.events = append(w.m.events, modelEvent{e, w.batch})
		bodies = append(bodies, body)
	}
	w.step = fmt.Sprintf("append %d events", len(bodies))
	first, c := w.p.Append(w.now, key, bodies)
	w.keep(c)
	if want := int64(len(w.m.events) - len(bodies)); first != want {
		w.t.Fatalf("%s: first is %d, want %d", w.step, first, want)
	}
	if len(bodies) > 0 {
		w.pending = append(w.pending, w.p.End())
	}
	w.m.expire(w.now)
}

func (w *walker) compare(p *Partition) {
	w.t.Helper()
	w.same("properties", w.m.properties(), p.Properties())
	// Read on from any place, by any steps.
	next, limit := w.rnd.IntN(len(w.m.events)+1), 1+w.rnd.IntN(10)
	c := Cursor{next: int64(next)}
	want := w.m.read(next, 1<<30)
	var got []Event
	for {
		n := len(got)
		if got = p.Read(&c, limit, got); len(got) == n {
			break
		}
	}
	w.same(fmt.Sprintf("events from %d by %d", next, limit), want, w.whole(got))
	w.positions(p)
}

// whole gives events with their bodies, which the records have.
func (w *walker) whole(events []Event) (out []event) {
	for _, e := range events {
		bodies, err := Bodies(w.records[e.Record])
		if err != nil {
			w.t.Fatalf("%s: event %d: %v", w.step, e.SequenceNumber, err)
		}
		body := bodies[e.Index]
		e.Record, e.Index = "", 0
		out = append(out, event{e, body})
	}
	return out
}

// positions compares Start with a search over all events.
func (w *walker) positions(p *Partition) {
	w.t.Helper()
	if w.m.readable == 0 {
		return
	}
	e := w.m.events[w.rnd.IntN(w.m.readable)]
	var offset int64
	if _, err := fmt.Sscan(e.Offset, &offset); err != nil {
		w.t.Fatal(err)
	}
	inclusive := w.rnd.IntN(2) == 0
	for _, at := range []Position{
		{BySequenceNumber, e.SequenceNumber, inclusive},
		{ByOffset, offset, inclusive},
		{ByEnqueuedTime, e.EnqueuedAt.UnixMilli(), inclusive},
	} {
		want := w.m.readable
		for i, x := range w.m.events[:w.m.readable] {
			after := x.SequenceNumber > e.SequenceNumber
			if at.Kind == ByEnqueuedTime {
				after = x.EnqueuedAt.UnixMilli() > at.Value
			}
			same := x.SequenceNumber == e.SequenceNumber || at.Kind == ByEnqueuedTime && x.EnqueuedAt.UnixMilli() == at.Value
			if i >= w.m.dropped && (after || (inclusive || at.Kind == ByEnqueuedTime) && same) {
				want = i
				break
			}
		}
		c, err := p.Start(at)
		if err != nil {
			w.t.Fatalf("%s: start at %+v: %v", w.step, at, err)
		}
		// A place before the oldest event is as good as the oldest event's.
		if got := max(int(c.Next()), w.m.dropped); got != want {
			w.t.Fatalf("%s: start at %+v is %d, want %d", w.step, at, got, want)
		}
	}
}

func (w *walker) same(what string, want, got any) {
	w.t.Helper()
	if !reflect.DeepEqual(want, got) {
		w.t.Fatalf("%s: %s: model (-) and partition (+) differ:\n%s", w.step, what, cmp.Diff(want, got))
	}
}
