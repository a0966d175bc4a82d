package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conforms tests what every Store promises. open gives a new empty Store; the
// test closes it.
func conforms(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"batches":   testBatches,
		"prefixes":  testPrefixes,
		"snapshots": testSnapshots,
		"get":       testGet,
		"order":     testOrder,
		"nested":    testNestedCommit,
		"closed":    testClosed,
		"random":    testRandom,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			test(t, s)
			if name == "closed" {
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// apply commits pairs of key and value; "-key" deletes.
func apply(t *testing.T, s Store, pairs ...string) {
	t.Helper()
	var b Batch
	for _, p := range pairs {
		if key, ok := strings.CutPrefix(p, "-"); ok {
			b.Delete(key)
			continue
		}
		key, value, _ := strings.Cut(p, "=")
		b.Put(key, []byte(value))
	}
	if err := Apply(s, b); err != nil {
		t.Fatalf("apply %v: %v", pairs, err)
	}
}

func list(s Store, prefix string) []string {
	var out []string
	for key, value := range s.All(prefix) {
		out = append(out, key+"="+string(value))
	}
	return out
}

func want(t *testing.T, s Store, prefix string, pairs ...string) {
	t.Helper()
	if diff := cmp.Diff(pairs, list(s, prefix)); diff != "" {
		t.Errorf("entries of %q, want (-), got (+):\n%s", prefix, diff)
	}
}

func testBatches(t *testing.T, s Store) {
	want(t, s, "")
	apply(t, s, "b=1", "a=1", "c=1")
	want(t, s, "", "a=1", "b=1", "c=1")
	// Within a batch the last change of a key counts; absent keys can be deleted.
	apply(t, s, "a=2", "-b", "-nothing", "c=2", "-c", "d=1", "-d", "d=2")
	want(t, s, "", "a=2", "d=2")
	apply(t, s)
	apply(t, s, "a=")
	want(t, s, "a", "a=")
}

func testPrefixes(t *testing.T, s Store) {
	apply(t, s, "a/1=", "a/2=", "a=", "a0=", "b/1=", "a/\xff=", "a/10=")
	want(t, s, "a/", "a/1=", "a/10=", "a/2=", "a/\xff=")
	want(t, s, "b", "b/1=")
	want(t, s, "c")
	for key := range s.All("a/") { // breaking off is allowed
		if key != "a/1" {
			t.Errorf("the first key is %q", key)
		}
		break
	}
}

func testSnapshots(t *testing.T, s Store) {
	apply(t, s, "a=1", "b=1")
	all := s.All("")
	apply(t, s, "-a", "b=2", "c=2")
	got := map[string]string{}
	for key, value := range all {
		got[key] = string(value)
		apply(t, s, "d="+key) // changing while reading is allowed
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "1"}, got); diff != "" {
		t.Errorf("All is not as of its call, want (-), got (+):\n%s", diff)
	}
	want(t, s, "", "b=2", "c=2", "d=b")
}

// testGet gets what was committed last, as soon as Commit has returned.
func testGet(t *testing.T, s Store) {
	gets := func(key, want string) {
		t.Helper()
		value, err := s.Get(key)
		if string(value) != want || errors.Is(err, ErrAbsent) != (want == "") {
			t.Errorf("%s is %q (%v), want %q", key, value, err, want)
		}
	}
	var all sync.WaitGroup
	commit := func(change func(*Batch)) {
		var b Batch
		change(&b)
		all.Add(1)
		s.Commit(b, func(err error) {
			defer all.Done()
			if err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
	gets("a/1", "")
	for range 20 {
		commit(func(b *Batch) { b.Put("a/1", []byte("one")); b.Put("a/2", []byte("two")) })
		gets("a/1", "one")
		gets("a/2", "two")
		commit(func(b *Batch) { b.Put("a/1", []byte("three")); b.Delete("a/2") })
		gets("a/1", "three")
		gets("a/2", "")
	}
	all.Wait()
	gets("a/1", "three")
	gets("a/2", "")
	gets("a", "")
}

// testOrder commits from several goroutines: callbacks come in the order of the
// calls, and each finds its batch in effect.
func testOrder(t *testing.T, s Store) {
	const writers, each = 4, 200
	var mu sync.Mutex // makes the order of the calls known
	var called, answered []string
	var wg, answers sync.WaitGroup
	answers.Add(writers * each)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				key := fmt.Sprintf("%d/%03d", w, i)
				var b Batch
				b.Put(key, []byte("x"))
				mu.Lock()
				called = append(called, key)
				s.Commit(b, func(err error) {
					defer answers.Done()
					if err != nil {
						t.Errorf("commit %s: %v", key, err)
					}
					// Callbacks are called one after the other, so nothing guards this.
					answered = append(answered, key)
				})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	answers.Wait()
	if !slices.Equal(called, answered) {
		t.Error("the callbacks came in another order than the calls")
	}
	if n := len(list(s, "")); n != writers*each {
		t.Errorf("%d entries", n)
	}
}

func testNestedCommit(t *testing.T, s Store) {
	done := make(chan error, 2)
	var outer, inner Batch
	outer.Put("outer", nil)
	inner.Put("inner", nil)
	s.Commit(outer, func(err error) {
		done <- err
		s.Commit(inner, func(err error) { done <- err })
	})
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("commit: %v", err)
		}
	}
	want(t, s, "", "inner=", "outer=")
}

func testClosed(t *testing.T, s Store) {
	apply(t, s, "a=1")
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	var b Batch
	b.Put("a", []byte("2"))
	if err := Apply(s, b); !errors.Is(err, ErrClosed) {
		t.Errorf("a commit after Close gave %v", err)
	}
}

func testRandom(t *testing.T, s Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	model := map[string]string{}
	for range 300 {
		var b Batch
		for range rnd.IntN(5) {
			// Numbers of 16 digits, and what looks like them, are keys like others.
			key := fmt.Sprintf([]string{"%d/%d", "%d/%016x", "%d/%016X"}[rnd.IntN(3)], rnd.IntN(3), rnd.IntN(20))
			if rnd.IntN(3) == 0 {
				b.Delete(key)
				delete(model, key)
				continue
			}
			value := fmt.Sprint(rnd.IntN(1000))
			b.Put(key, []byte(value))
			model[key] = value
		}
		if err := Apply(s, b); err != nil {
			t.Fatalf("apply: %v", err)
		}
		prefix := fmt.Sprintf("%d/", rnd.IntN(3))
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(model)) {
			if strings.HasPrefix(key, prefix) {
				pairs = append(pairs, key+"="+model[key])
			}
		}
		want(t, s, prefix, pairs...)
		key := fmt.Sprintf("%s%016x", prefix, rnd.IntN(20))
		value, err := s.Get(key)
		if expected, there := model[key]; string(value) != expected || errors.Is(err, ErrAbsent) == there {
			t.Fatalf("%s is %q (%v), want %q", key, value, err, expected)
		}
	}
}
