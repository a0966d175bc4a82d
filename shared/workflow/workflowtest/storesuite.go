package workflowtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// StoreSuite is what every workflow.Store must pass. newStore is called once
// per test; the stores it returns may share their documents, since the suite
// uses fresh ids.
func StoreSuite(t *testing.T, newStore func(t *testing.T) workflow.Store) {
	for name, test := range map[string]func(*testing.T, workflow.Store){
		"read of what is not there":        readMissing,
		"a document comes back as written": roundTrip,
		"create of a taken id":             createTaken,
		"replace needs the current ETag":   replaceStale,
		"replace of what is not there":     replaceMissing,
		"callers keep their memory":        ownMemory,
		"one of many replaces wins":        concurrentReplace,
		"one of many creates wins":         concurrentCreate,
		"overdue":                          overdueWakes,
		"overdue notices":                  overdueNotices,
		"a context that has ended":         endedContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, newStore(t)) })
	}
}

func freshID() string { return fmt.Sprintf("suite-%016x", rand.Uint64()) }

func wantKind(t *testing.T, what string, err error, kind failure.Kind) {
	t.Helper()
	if !failure.Is(err, kind) {
		t.Errorf("%s: error %v is %s, want %s", what, err, failure.KindOf(err), kind)
	}
}

func mustCreate(t *testing.T, s workflow.Store, p *workflow.Progress) string {
	t.Helper()
	etag, err := s.Create(t.Context(), p)
	if err != nil {
		t.Fatalf("create %s: %v", p.ID, err)
	}
	if etag == "" {
		t.Fatalf("create %s: no ETag", p.ID)
	}
	return etag
}

func wantStored(t *testing.T, s workflow.Store, want *workflow.Progress, wantTag string) {
	t.Helper()
	got, etag, err := s.Read(t.Context(), want.ID)
	if err != nil {
		t.Fatalf("read %s: %v", want.ID, err)
	}
	if diff := cmp.Diff(want, got, sameJSON); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if etag != wantTag {
		t.Errorf("ETag %q, want %q", etag, wantTag)
	}
}

// sameJSON lets a store write raw JSON in a form of its own.
var sameJSON = cmp.Comparer(func(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return cmp.Equal(x, y)
})

func readMissing(t *testing.T, s workflow.Store) {
	_, _, err := s.Read(t.Context(), freshID())
	wantKind(t, "read", err, failure.NotFound)
}

func roundTrip(t *testing.T, s workflow.Store) {
	for _, p := range []*workflow.Progress{FullProgress(freshID()), Trip().New(freshID(), Start, workflow.Limits{})} {
		etag := mustCreate(t, s, p)
		wantStored(t, s, p, etag)
	}
}

func createTaken(t *testing.T, s workflow.Store) {
	p := FullProgress(freshID())
	etag := mustCreate(t, s, p)
	other := p.Clone()
	other.Saves++
	_, err := s.Create(t.Context(), other)
	wantKind(t, "second create", err, failure.Conflict)
	wantStored(t, s, p, etag)
}

func replaceStale(t *testing.T, s workflow.Store) {
	p := FullProgress(freshID())
	first := mustCreate(t, s, p)
	p.Saves++
	second, err := s.Replace(t.Context(), p, first)
	if err != nil {
		t.Fatalf("replace: %v", err)
	}
	if second == first {
		t.Errorf("a replace keeps the ETag %q", first)
	}
	wantStored(t, s, p, second)
	late := p.Clone()
	late.Saves++
	_, err = s.Replace(t.Context(), late, first)
	wantKind(t, "replace under the old ETag", err, failure.Conflict)
	wantStored(t, s, p, second)
}

func replaceMissing(t *testing.T, s workflow.Store) {
	_, err := s.Replace(t.Context(), FullProgress(freshID()), `"1"`)
	wantKind(t, "replace", err, failure.NotFound)
}

func ownMemory(t *testing.T, s workflow.Store) {
	p := FullProgress(freshID())
	want := FullProgress(p.ID)
	etag := mustCreate(t, s, p)
	p.Steps[0].State = workflow.StepUndone
	p.Request[0] = 'x'
	wantStored(t, s, want, etag)
	got, _, err := s.Read(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	got.Steps[0].State = workflow.StepUndone
	wantStored(t, s, want, etag)
}

// race runs n writers at once and returns how many succeeded; the others must
// have met a conflict.
func race(t *testing.T, n int, write func(i int) error) int {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = write(i) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantKind(t, "a lost race", err, failure.Conflict)
	}
	return won
}

func concurrentReplace(t *testing.T, s workflow.Store) {
	p := FullProgress(freshID())
	etag := mustCreate(t, s, p)
	if won := race(t, 8, func(i int) error {
		mine := p.Clone()
		mine.Saves = 100 + i
		_, err := s.Replace(t.Context(), mine, etag)
		return err
	}); won != 1 {
		t.Errorf("%d replaces under one ETag succeeded, want 1", won)
	}
}

func concurrentCreate(t *testing.T, s workflow.Store) {
	id := freshID()
	if won := race(t, 8, func(int) error {
		_, err := s.Create(t.Context(), FullProgress(id))
		return err
	}); won != 1 {
		t.Errorf("%d creates of one id succeeded, want 1", won)
	}
}

func overdueWakes(t *testing.T, s workflow.Store) { overdue(t, s, s.Overdue, setWakeAt, setNoticesAt) }

func overdueNotices(t *testing.T, s workflow.Store) {
	overdue(t, s, s.OverdueNotices, setNoticesAt, setWakeAt)
}

func setWakeAt(p *workflow.Progress, at workflow.Instant) { p.WakeAt = at }

func setNoticesAt(p *workflow.Progress, at workflow.Instant) { p.Outbox.At = at }

// overdue wants one of the store's lists to hold what is due before an instant,
// and nothing that is due later, never, or only by what another list is about.
func overdue(t *testing.T, s workflow.Store,
	list func(context.Context, workflow.Instant, string) ([]string, string, error), due, other func(*workflow.Progress, workflow.Instant)) {
	limit := workflow.At(Start)
	var want, all []string
	add := func(set func(*workflow.Progress, workflow.Instant), at time.Time) string {
		p := FullProgress(freshID())
		p.WakeAt, p.Outbox.At = workflow.Instant{}, workflow.Instant{}
		if !at.IsZero() {
			set(p, workflow.At(at))
		}
		mustCreate(t, s, p)
		all = append(all, p.ID)
		return p.ID
	}
	for i, at := range []time.Time{
		Start.Add(-time.Millisecond), Start.Add(-100 * time.Millisecond), Start.Add(-time.Hour), Start.AddDate(-1, 0, 0),
		Start.Add(-time.Second), Start.Add(-time.Minute), Start.Add(-24 * time.Hour), // overdue so far
		Start, Start.Add(time.Millisecond), Start.Add(time.Hour), {},
	} {
		if id := add(due, at); i < 7 {
			want = append(want, id)
		}
	}
	add(other, Start.Add(-time.Hour))
	var got []string
	next := ""
	for n := 0; ; n++ {
		if n == 10000 {
			t.Fatal("the pages have no end")
		}
		ids, after, err := list(t.Context(), limit, next)
		if err != nil {
			t.Fatalf("overdue: %v", err)
		}
		for _, id := range ids {
			if slices.Contains(all, id) {
				got = append(got, id)
			}
		}
		if after == "" {
			break
		}
		next = after
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overdue transactions (-want +got):\n%s", diff)
	}
}

func endedContext(t *testing.T, s workflow.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := FullProgress(freshID())
	_, err := s.Create(ctx, p)
	wantKind(t, "create", err, failure.Transient)
	_, _, err = s.Read(ctx, p.ID)
	wantKind(t, "read", err, failure.Transient)
	_, _, err = s.Overdue(ctx, workflow.At(Start), "")
	wantKind(t, "overdue", err, failure.Transient)
	_, _, err = s.OverdueNotices(ctx, workflow.At(Start), "")
	wantKind(t, "overdue notices", err, failure.Transient)
}

// FullProgress returns a document in which every field is set.
func FullProgress(id string) *workflow.Progress {
	at := workflow.At(Start.Add(1500 * time.Millisecond))
	failed := &workflow.StepError{Status: 503, Type: "unavailable", Message: `no "room" <left>`, At: at}
	return &workflow.Progress{
		ID: id, Schema: workflow.Schema, State: workflow.Compensating, Cause: workflow.CauseCancelled,
		Reason: "cancelled by its client", Caller: "caller-1", Revision: 2,
		Request: TripBody(), Previous: json.RawMessage(`{"city":"Bergen","nights":1}`),
		AcceptedAt: at, StartedAt: at, CompleteBy: at, EndedAt: at,
		Steps: []workflow.StepProgress{
			{
				Name: "hotel", State: workflow.StepUndoing, Effect: workflow.EffectYes, Revision: 1, Attempts: 3, Tried: 2,
				NotBefore: at, StartedAt: at, EndedAt: at, Result: json.RawMessage(`{"room":"12"}`), Error: failed,
				UndoAttempts: 2, UndoLaters: 1, UndoError: failed,
			},
			{Name: "flight", State: workflow.StepPending, Effect: workflow.EffectMaybe, Attempts: 1, Tried: 1},
			{Name: "payment", State: workflow.StepPending},
		},
		Operations: []workflow.OperationRecord{
			{ID: "op-1", Kind: workflow.OperationStart, State: workflow.OperationApplied, AcceptedAt: at, EndedAt: at, Hash: "5f70bf18"},
			{ID: "op-2", Kind: workflow.OperationReschedule, State: workflow.OperationSuperseded, Reason: "cancelled",
				Change: json.RawMessage(`{"nights":4}`), Bytes: 12, Revision: 2, AcceptedAt: at, EndedAt: at},
			{ID: "op-3", Kind: workflow.OperationCancel, State: workflow.OperationPending, Caller: "caller-2", Revision: 2, AcceptedAt: at},
		},
		History: []workflow.StateChange{
			{At: at, Transition: workflow.TransitionStart, State: workflow.Running},
			{At: at, Transition: workflow.TransitionRetryUndo, State: workflow.Compensating, Reason: "the service is back", By: "ada"},
		},
		Outbox: workflow.Outbox{
			Notices: []workflow.Notice{{Number: 2, State: workflow.Stuck, Cause: workflow.CauseCancelled, Reason: "no answer", Revision: 2, At: at}},
			Count:   2, Wake: 3, At: at, Laters: 1,
		},
		Lease: workflow.Lease{Runner: "runner-1", Epoch: 4, Until: at},
		Saves: 7, Wake: 5, WakeAt: at, WakeQueue: workflow.QueueCompensations, Laters: 2, Sweeps: 1, DeadLetters: 1, DeadWake: 4,
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", TTL: 3600,
	}
}
