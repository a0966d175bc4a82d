package eventlog

import (
	"errors"
	"testing"
	"time"
)

func TestParsePosition(t *testing.T) {
	for filter, want := range map[string]Position{
		"amqp.annotation.x-opt-offset > '-1'":                    Earliest,
		"amqp.annotation.x-opt-offset > '120'":                   {ByOffset, 120, false},
		"amqp.annotation.x-opt-offset >= '120'":                  {ByOffset, 120, true},
		"amqp.annotation.x-opt-offset > '@latest'":               {Latest, 0, false},
		"amqp.annotation.x-opt-offset >= '@latest'":              {Latest, 0, true},
		"amqp.annotation.x-opt-sequence-number > '7'":            {BySequenceNumber, 7, false},
		"amqp.annotation.x-opt-sequence-number >= '7'":           {BySequenceNumber, 7, true},
		" amqp.annotation.x-opt-enqueued-time>='1700000000000' ": {ByEnqueuedTime, 1700000000000, true},
	} {
		if got, err := ParsePosition(filter); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", filter, got, err, want)
		}
	}
	for _, filter := range []string{
		"", "x-opt-offset > '1'", "amqp.annotation.x-opt-offset < '1'", "amqp.annotation.x-opt-offset > 1",
		"amqp.annotation.x-opt-enqueued-time > '@latest'", "amqp.annotation.x-opt-offset > '99999999999999999999'",
		"amqp.annotation.x-opt-offset > '1' OR 1 = 1", "amqp.annotation.x-opt-partition-key > '1'",
	} {
		if _, err := ParsePosition(filter); !errors.Is(err, ErrBadPosition) {
			t.Errorf("%q: got %v", filter, err)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("amqp.annotation.x-opt-offset > '-1'")
	f.Add("amqp.annotation.x-opt-sequence-number >= '12'")
	f.Fuzz(func(t *testing.T, filter string) {
		at, err := ParsePosition(filter)
		if err != nil {
			if !errors.Is(err, ErrBadPosition) {
				t.Fatalf("%q: %v", filter, err)
			}
			return
		}
		p := New(Config{Retention: time.Hour})
		p.Append(time.Unix(1e9, 0), nil, [][]byte{[]byte("a"), []byte("b")})
		p.Commit(2)
		c, err := p.Start(at)
		if err != nil {
			if !errors.Is(err, ErrBeyondEnd) {
				t.Fatalf("%q: %v", filter, err)
			}
			return
		}
		if c.Next() < 0 || c.Next() > 2 {
			t.Fatalf("%q starts at %d", filter, c.Next())
		}
	})
}

func TestStartAtTheEdges(t *testing.T) {
	now := time.Unix(1e9, 0).UTC()
	empty := New(Config{Retention: time.Hour})
	used := New(Config{Retention: time.Hour})
	used.Append(now, nil, [][]byte{[]byte("0"), []byte("1")})
	used.Append(now.Add(time.Minute), nil, [][]byte{[]byte("2")})
	used.Commit(3)
	used.Append(now.Add(time.Minute), nil, [][]byte{[]byte("not committed")})
	expired := New(Config{Retention: time.Hour})
	expired.Append(now, nil, [][]byte{[]byte("0")})
	expired.Commit(1)
	expired.Expire(now.Add(time.Hour))
	for _, c := range []struct {
		name string
		p    *Partition
		at   Position
		want int64 // -1: beyond the end
	}{
		{"earliest of none", empty, Earliest, 0},
		{"latest of none", empty, Position{Latest, 0, false}, 0},
		{"inclusive latest of none", empty, Position{Latest, 0, true}, 0},
		{"first number of none", empty, Position{BySequenceNumber, 0, true}, 0},
		{"number before all", used, Position{BySequenceNumber, -1, false}, 0},
		{"a number of none", empty, Position{BySequenceNumber, 1, true}, -1},
		{"an offset of none", empty, Position{ByOffset, 1, true}, -1},
		{"latest", used, Position{Latest, 0, false}, 3},
		{"inclusive latest", used, Position{Latest, 0, true}, 2},
		{"last number", used, Position{BySequenceNumber, 2, false}, 3},
		{"uncommitted number", used, Position{BySequenceNumber, 3, true}, -1},
		{"between two offsets", used, Position{ByOffset, 1, false}, 1},
		{"last offset", used, Position{ByOffset, 4, false}, 3},
		{"offset beyond", used, Position{ByOffset, 5, false}, -1},
		{"early time", used, Position{ByEnqueuedTime, 0, false}, 0},
		{"an event's time", used, Position{ByEnqueuedTime, now.Add(time.Minute).UnixMilli(), false}, 2},
		{"after an event's time", used, Position{ByEnqueuedTime, now.UnixMilli() + 1, false}, 2},
		{"late time", used, Position{ByEnqueuedTime, 1 << 50, true}, 3},
		{"all expired, earliest", expired, Earliest, 0},
		{"all expired, last number", expired, Position{BySequenceNumber, 0, false}, 1},
		{"all expired, last offset", expired, Position{ByOffset, 0, true}, 1},
	} {
		cursor, err := c.p.Start(c.at)
		switch {
		case c.want < 0 && !errors.Is(err, ErrBeyondEnd):
			t.Errorf("%s: got %v, %v", c.name, cursor, err)
		case c.want >= 0 && (err != nil || cursor.Next() != c.want):
			t.Errorf("%s: got %d, %v, want %d", c.name, cursor.Next(), err, c.want)
		}
	}
}

func TestRewind(t *testing.T) {
	p := New(Config{Retention: time.Hour})
	p.Append(time.Unix(1e9, 0), nil, [][]byte{[]byte("0"), []byte("1"), []byte("2")})
	p.Commit(3)
	c, err := p.Start(Earliest)
	if err != nil {
		t.Fatal(err)
	}
	p.Read(&c, 3, nil)
	c.Rewind(1)
	if got := p.Read(&c, 9, nil); len(got) != 2 || got[0].Index != 1 {
		t.Errorf("after rewinding: %v", got)
	}
}
