package eventlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func reader(name string, level ...int64) *Reader {
	r := &Reader{Name: name}
	if len(level) > 0 {
		r.OwnerLevel = &level[0]
	}
	return r
}

func TestReadersOwnerLevels(t *testing.T) {
	var s Readers
	a, b, c, d := reader("a", 1), reader("b", 1), reader("c", 0), reader("d", 5)
	join := func(r *Reader, wantOut []*Reader, wantErr error) {
		t.Helper()
		out, err := s.Join(r)
		if !slices.Equal(out, wantOut) || !errors.Is(err, wantErr) {
			t.Errorf("%s joins: %v, %v, want %v, %v", r.Name, out, err, wantOut, wantErr)
		}
	}
	join(a, nil, nil)
	join(b, []*Reader{a}, nil) // an equal level wins, too
	join(c, nil, ErrStolen)
	join(reader("none"), nil, ErrStolen)
	s.Leave(a) // was driven out: b stays
	if s.Len() != 1 {
		t.Fatalf("%d readers", s.Len())
	}
	join(d, []*Reader{b}, nil)
	s.Leave(d)
	join(c, nil, nil)
	_, err := s.Join(reader("none"))
	if want := "Receiver 'c' with a higher epoch '0' already exists. Receiver 'none' with epoch 0 cannot be created."; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %q", err)
	}
}

func TestReadersWithoutLevel(t *testing.T) {
	var s Readers
	var all []*Reader
	for i := range MaxReaders {
		all = append(all, reader(fmt.Sprint(i)))
		if _, err := s.Join(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Join(reader("one more")); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	s.Leave(all[2])
	if _, err := s.Join(all[2]); err != nil {
		t.Errorf("join again: %v", err)
	}
	owner := reader("owner", 0)
	out, err := s.Join(owner)
	if err != nil || len(out) != MaxReaders || s.Len() != 1 {
		t.Errorf("the owner drives out %d, %v", len(out), err)
	}
}

func TestPartitionOf(t *testing.T) {
	const n = 8
	var hits [n]int
	for i := range 8000 {
		key := fmt.Sprintf("01890a5d-ac96-774b-bcce-%012d", i)
		p := PartitionOf(key, n)
		if p != PartitionOf(key, n) {
			t.Fatalf("%s is in two partitions", key)
		}
		hits[p]++
	}
	for p, h := range hits {
		if h < 800 || h > 1200 {
			t.Errorf("partition %d gets %d of 8000 keys", p, h)
		}
	}
	// Stored events rely on it: it must never change.
	for key, want := range map[string]int{"": 1, "a": 0, "delivery-1": 3} {
		if got := PartitionOf(key, n); got != want {
			t.Errorf("%q is in %d, was in %d", key, got, want)
		}
	}
}
