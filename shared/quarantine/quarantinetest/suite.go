package quarantinetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// StoreSuite is what every quarantine.Store must pass. newStore gives an empty
// one to each test.
func StoreSuite(t *testing.T, newStore func(t *testing.T) quarantine.Store) {
	for name, test := range map[string]func(*testing.T, quarantine.Store){
		"the first of an id stays":     putTwice,
		"read of what is not there":    readMissing,
		"replace needs the ETag":       replace,
		"replace of what is not there": replaceMissing,
		"pages by filter":              pages,
		"a continuation of nobody":     badContinuation,
	} {
		t.Run(name, func(t *testing.T) { test(t, newStore(t)) })
	}
}

// Full returns an entry whose every field has a value.
func Full(source string, n int64) quarantine.Entry {
	at := time.Date(2030, 5, 6, 12, 0, 0, 123e6, time.UTC)
	e := quarantine.Entry{
		Source: source, SequenceNumber: n, Reason: quarantine.ReasonUnreadable,
		Detail: "not JSON", Properties: map[string]any{"a": "b"}, TransactionID: "t-1", MessageID: "o-1",
		At: at, TTL: 3600, State: quarantine.Redriven,
		Acts: []quarantine.Act{{At: at, Act: quarantine.ActRedrive, By: "ada", Why: "fixed", Result: "sent"}},
	}
	e.SetBody([]byte{0xff, byte(n)})
	e.ID = quarantine.EntryID(e)
	return e
}

func put(t *testing.T, s quarantine.Store, e quarantine.Entry) {
	t.Helper()
	if err := s.Put(t.Context(), e); err != nil {
		t.Fatalf("put %s: %v", e.ID, err)
	}
}

func wantEntry(t *testing.T, s quarantine.Store, want quarantine.Entry) (etag string) {
	t.Helper()
	got, etag, err := s.Read(t.Context(), want.Source, want.ID)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || etag == "" {
		t.Fatalf("read %s: %v, ETag %q, entry (-want +got):\n%s", want.ID, err, etag, diff)
	}
	return etag
}

func wantKind(t *testing.T, what string, err error, kind failure.Kind) {
	t.Helper()
	if !failure.Is(err, kind) {
		t.Errorf("%s: error %v is %s, want %s", what, err, failure.KindOf(err), kind)
	}
}

func putTwice(t *testing.T, s quarantine.Store) {
	e := Full("hub.0", 7)
	put(t, s, e)
	again := e
	again.Detail = "again"
	put(t, s, again)
	wantEntry(t, s, e)
}

func readMissing(t *testing.T, s quarantine.Store) {
	there := Full("hub.0", 7)
	put(t, s, there)
	for source, id := range map[string]string{"hub.0": Full("hub.0", 8).ID, "hub.1": there.ID} {
		_, _, err := s.Read(t.Context(), source, id)
		wantKind(t, "read of "+id+" in "+source, err, failure.NotFound)
	}
}

func replace(t *testing.T, s quarantine.Store) {
	e := Full("hub.0", 7)
	put(t, s, e)
	first := wantEntry(t, s, e)
	e.State = quarantine.Dropped
	if err := s.Replace(t.Context(), e, first); err != nil {
		t.Fatal(err)
	}
	if second := wantEntry(t, s, e); second == first {
		t.Errorf("the ETag is still %s", first)
	}
	stale := e
	stale.State = quarantine.Kept
	wantKind(t, "replace with the old ETag", s.Replace(t.Context(), stale, first), failure.Conflict)
	wantEntry(t, s, e)
}

func replaceMissing(t *testing.T, s quarantine.Store) {
	wantKind(t, "replace of none", s.Replace(t.Context(), Full("hub.0", 7), `"1"`), failure.NotFound)
}

func pages(t *testing.T, s quarantine.Store) {
	for n := range int64(8) {
		e := Full(quarantine.EventSource("hub", fmt.Sprint(n%2)), n)
		e.Reason = []string{quarantine.ReasonUnreadable, quarantine.ReasonExpired}[n/4]
		e.TransactionID = fmt.Sprint("t-", n/2)
		e.State = []quarantine.State{quarantine.Kept, quarantine.Dropped}[n/2%2]
		put(t, s, e)
	}
	for _, c := range []struct {
		filter quarantine.Filter
		want   []int64
	}{
		{quarantine.Filter{}, []int64{0, 1, 2, 3, 4, 5, 6, 7}},
		{quarantine.Filter{Source: "hub.1"}, []int64{1, 3, 5, 7}},
		{quarantine.Filter{Reason: quarantine.ReasonExpired}, []int64{4, 5, 6, 7}},
		{quarantine.Filter{Source: "hub.0", Reason: quarantine.ReasonExpired}, []int64{4, 6}},
		{quarantine.Filter{TransactionID: "t-1"}, []int64{2, 3}},
		{quarantine.Filter{State: quarantine.Dropped}, []int64{2, 3, 6, 7}},
		{quarantine.Filter{State: quarantine.Kept, Reason: quarantine.ReasonUnreadable, TransactionID: "t-0", Source: "hub.1"}, []int64{1}},
		{quarantine.Filter{Source: "none"}, nil},
		{quarantine.Filter{WithoutBodies: true}, []int64{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		var numbers []int64
		for _, e := range All(t, s, c.filter) {
			numbers = append(numbers, e.SequenceNumber)
			checkBody(t, s, c.filter, e)
		}
		slices.Sort(numbers)
		if diff := cmp.Diff(c.want, numbers); diff != "" {
			t.Errorf("%+v: sequence numbers (-want +got):\n%s", c.filter, diff)
		}
	}
}

// checkBody holds that an entry of a page is the stored one, but for what the
// filter leaves out.
func checkBody(t *testing.T, s quarantine.Store, f quarantine.Filter, e quarantine.Entry) {
	t.Helper()
	want, _, err := s.Read(t.Context(), e.Source, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if f.WithoutBodies {
		want.Body, want.Encoding, want.Properties = "", "", nil
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("%+v: entry (-want +got):\n%s", f, diff)
	}
}

func badContinuation(t *testing.T, s quarantine.Store) {
	put(t, s, Full("hub.0", 7))
	_, _, err := s.Page(t.Context(), quarantine.Filter{}, "of nobody")
	wantKind(t, "page", err, failure.Invalid)
}

// All returns the entries of all pages.
func All(t *testing.T, s quarantine.Store, f quarantine.Filter) []quarantine.Entry {
	t.Helper()
	var all []quarantine.Entry
	for next, n := "", 0; ; n++ {
		page, after, err := s.Page(t.Context(), f, next)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if next = after; next == "" {
			return all
		}
		if n > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}
