package record_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

type fixture struct {
	store  recordtest.Memory[record.Record[string]]
	script recordtest.Script
	keeper record.Keeper[string]
}

func newFixture() *fixture {
	f := &fixture{}
	f.store.Before = f.script.Before
	f.keeper = record.Keeper[string]{
		Store:   &f.store,
		Now:     func() time.Time { return time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC) },
		Account: func(content string) string { return content },
	}
	return f
}

func (f *fixture) put(t *testing.T, transactionID string, revision int, content string) (record.Change, error) {
	t.Helper()
	by := record.By{TransactionID: transactionID, Revision: revision}
	_, change, err := f.keeper.Put(t.Context(), "r", by, content, func(*string) string { return content })
	return change, err
}

func (f *fixture) del(t *testing.T, transactionID string) error {
	t.Helper()
	err := f.keeper.Delete(t.Context(), "r", record.By{TransactionID: transactionID, Revision: 1})
	return err
}

func TestRepeatsWriteNothing(t *testing.T) {
	f := newFixture()
	for i, want := range []record.Change{record.Created, "", ""} {
		if got, err := f.put(t, "a", 1, "x"); got != want || err != nil {
			t.Fatalf("put %d: %q, %v", i, got, err)
		}
	}
	for i := range 3 {
		if err := f.del(t, "a"); err != nil {
			t.Fatalf("delete %d: %v", i, err)
		}
	}
	if got := f.store.Writes(); got != 2 {
		t.Errorf("%d writes, want 2", got)
	}
	if _, err := f.put(t, "a", 1, "x"); problem.From(err).Status != http.StatusGone {
		t.Errorf("late put: %v", err)
	}
	if _, err := f.keeper.GetLive(t.Context(), "r"); !failure.Is(err, failure.NotFound) {
		t.Errorf("get: %v", err)
	}
}

// Whatever the database does to a write, the repeat that follows brings the
// effect about once.
func TestFaultsAreHarmless(t *testing.T) {
	for _, op := range []recordtest.Op{recordtest.Read, recordtest.Create, recordtest.Replace} {
		for _, fault := range []recordtest.Fault{recordtest.Fail, recordtest.Lost} {
			t.Run(fmt.Sprint(op, fault), func(t *testing.T) {
				f := newFixture()
				again := func(name string, work func() error) {
					f.script.Clear()
					f.script.Next(op, fault)
					for range 2 {
						err := work()
						if err == nil {
							return
						}
						if !failure.Is(err, failure.Transient) {
							t.Fatalf("%s: %v", name, err)
						}
					}
					t.Fatalf("%s: the repeat failed, too", name)
				}
				again("create", func() error { _, err := f.put(t, "a", 1, "x"); return err })
				again("change", func() error { _, err := f.put(t, "a", 2, "y"); return err })
				again("delete", func() error { return f.del(t, "a") })
				f.script.Clear()
				rec, err := f.keeper.Get(t.Context(), "r")
				if err != nil {
					t.Fatal(err)
				}
				if len(rec.Journal) != 3 || rec.Live() {
					t.Errorf("journal %+v, live %v", rec.Journal, rec.Live())
				}
			})
		}
	}
}

func TestConflictsAreRetriedABoundedNumberOfTimes(t *testing.T) {
	f := newFixture()
	for range failure.Tries - 1 {
		f.script.Next(recordtest.Create, recordtest.Conflict)
	}
	if _, err := f.put(t, "a", 1, "x"); err != nil {
		t.Fatal(err)
	}
	for range failure.Tries {
		f.script.Next(recordtest.Replace, recordtest.Conflict)
	}
	_, err := f.put(t, "a", 2, "y")
	if !failure.Is(err, failure.Transient) || problem.From(err).Status != http.StatusServiceUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestOneOfManyTransactionsOwns(t *testing.T) {
	f := newFixture()
	var wg sync.WaitGroup
	results := make([]error, 6)
	for i := range results {
		wg.Go(func() { _, results[i] = f.put(t, fmt.Sprintf("t%d", i), 1, "x") })
	}
	wg.Wait()
	created := 0
	for _, err := range results {
		var p *problem.Problem
		switch {
		case err == nil:
			created++
		case !errors.As(err, &p) || p.Type != record.OwnedByAnother.ID:
			t.Errorf("got %v", err)
		}
	}
	if created != 1 {
		t.Errorf("%d have created it", created)
	}
}

func TestPageOfHasTheLiveOnesOfTheOwner(t *testing.T) {
	f := newFixture()
	for i, owner := range []string{"o1", "o2", "o1", "o1"} {
		id := fmt.Sprintf("r%d", i)
		by := record.By{TransactionID: id, Revision: 1}
		if _, _, err := f.keeper.Put(t.Context(), id, by, "h", func(*string) string { return owner }); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.keeper.Delete(t.Context(), "r2", record.By{TransactionID: "r2"}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for continuation, first := "", true; first || continuation != ""; first = false {
		page, next, err := f.keeper.PageOf(t.Context(), "o1", continuation)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range page {
			ids = append(ids, rec.ID)
		}
		continuation = next
	}
	if got := strings.Join(ids, " "); got != "r0 r3" {
		t.Errorf("got %s", got)
	}
}

func TestReadCall(t *testing.T) {
	tests := []struct {
		name, id, transaction, operation, revision string
		want                                       record.By
		status                                     int
	}{
		{"all", "x", "t", "o", "3", record.By{TransactionID: "t", OperationID: "o", Revision: 3}, 200},
		{"transaction only", "x", "t", "", "", record.By{TransactionID: "t", Revision: 1}, 200},
		{"no transaction", "x", "", "o", "1", record.By{}, 400},
		{"bad transaction", "x", "a b", "", "", record.By{}, 400},
		{"bad operation", "x", "t", "a/b", "", record.By{}, 400},
		{"revision 0", "x", "t", "", "0", record.By{}, 400},
		{"revision no number", "x", "t", "", "one", record.By{}, 400},
		{"bad id", "x%20y", "t", "", "", record.By{}, 400},
		{"long id", strings.Repeat("x", 65), "t", "", "", record.By{}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got record.By
			router := mux.NewRouter()
			recordtest.Mount(router, slog.New(slog.DiscardHandler), []business.Endpoint{{Method: "PUT", Path: "things/{id}",
				Handle: func(_ http.ResponseWriter, r *http.Request) (err error) {
					_, got, err = record.ReadCall(r)
					return err
				}}})
			req := httptest.NewRequest(http.MethodPut, "/things/"+tt.id, nil)
			for name, header := range map[string]string{
				record.HeaderTransaction: tt.transaction, record.HeaderOperation: tt.operation, record.HeaderRevision: tt.revision,
			} {
				if header != "" {
					req.Header.Set(name, header)
				}
			}
			res := httptest.NewRecorder()
			router.ServeHTTP(res, req)
			if res.Code != tt.status || got != tt.want {
				t.Errorf("got %d %+v %s", res.Code, got, res.Body)
			}
		})
	}
}

func TestFailuresOfTheServiceAreLogged(t *testing.T) {
	tests := []struct {
		err    error
		status int
		logged bool
	}{
		{failure.New(failure.Transient, "read", "r", errors.New("secret")), 503, true},
		{errors.New("secret"), 503, true},
		{failure.New(failure.Permanent, "read", "r", errors.New("secret")), 500, true},
		{failure.New(failure.NotFound, "read", "r", errors.New("secret")), 404, false},
		{problem.New(problem.Gone, ""), 410, false},
	}
	for _, tt := range tests {
		t.Run(tt.err.Error(), func(t *testing.T) {
			var log strings.Builder
			router := mux.NewRouter()
			recordtest.Mount(router, slog.New(slog.NewTextHandler(&log, nil)), []business.Endpoint{{Method: "GET", Path: "x",
				Handle: func(http.ResponseWriter, *http.Request) error { return tt.err }}})
			res := httptest.NewRecorder()
			router.ServeHTTP(res, httptest.NewRequest(http.MethodGet, "/x", nil))
			if res.Code != tt.status || strings.Contains(res.Body.String(), "secret") {
				t.Errorf("%d %s", res.Code, res.Body)
			}
			if strings.Contains(log.String(), "secret") != tt.logged {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}
